-- Whether nothing happened under a key that is free or finished: then it can be claimed for other input.
ALTER TABLE keys ADD COLUMN without_effect INTEGER NOT NULL DEFAULT 0;
