-- Whether the call of a free or finished key had no effect: then the key can be claimed for different input.
ALTER TABLE keys ADD COLUMN without_effect INTEGER NOT NULL DEFAULT 0;
