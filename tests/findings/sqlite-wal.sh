#!/usr/bin/env bash
# SQLite 3.40.1: a -wal file is applied to whatever database is next to it, and damages a copy of an earlier moment.
#
# The file doesn't say which database it belongs to. So if a process was killed and a backup is put in the place of its
# database, the next reader joins pages of two moments. Without the -wal, the same copy is whole.
. "$(dirname "$0")/shared.sh"
debian sqlite3=3.40.1-2+deb12u2 libsqlite3-0=3.40.1-2+deb12u2

restore() {
    sqlite3 journal.sqlite >/dev/null <<'END'
PRAGMA journal_mode = wal;
PRAGMA wal_autocheckpoint = 0;
CREATE TABLE documents (id INTEGER PRIMARY KEY, name TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
INSERT INTO documents(name) SELECT printf('invoice %070d', i) FROM n;
.backup backup.sqlite
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
INSERT INTO documents(name) SELECT printf('invoice %070d', i) FROM n;
PRAGMA wal_checkpoint(TRUNCATE);
INSERT INTO documents(name) SELECT name FROM documents LIMIT 100;
.shell cp journal.sqlite-wal left-over-wal
END
    for folder in without-wal with-wal; do
        mkdir $folder
        cp backup.sqlite $folder/journal.sqlite
        [ $folder = without-wal ] || cp left-over-wal $folder/journal.sqlite-wal
        echo "$folder: $(sqlite3 $folder/journal.sqlite 'SELECT count(*) FROM documents' 2>&1)"
    done
}

expect restore <<'END'
without-wal: 100
with-wal: Error: stepping, database disk image is malformed (11)
END
