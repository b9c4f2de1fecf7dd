-- The bytes that recordings take, with 256 bytes of overhead each. Triggers keep it up to date.
CREATE TABLE sizes (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    recordings INTEGER NOT NULL
) STRICT;
INSERT INTO sizes (only_row, recordings)
    SELECT 1, coalesce(sum(octet_length(recording) + 256), 0) FROM recordings;

CREATE TRIGGER recordings_added AFTER INSERT ON recordings BEGIN
    UPDATE sizes SET recordings = recordings + octet_length(new.recording) + 256;
END;
CREATE TRIGGER recordings_changed AFTER UPDATE OF recording ON recordings BEGIN
    UPDATE sizes SET recordings = recordings + octet_length(new.recording) - octet_length(old.recording);
END;
CREATE TRIGGER recordings_removed AFTER DELETE ON recordings BEGIN
    UPDATE sizes SET recordings = recordings - octet_length(old.recording) - 256;
END;
