BEGIN TRANSACTION;
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT);
INSERT INTO "about" VALUES('schema','6');
INSERT INTO "about" VALUES('id','659a049d95748b51');
CREATE TABLE answers (
        company TEXT, sha256 TEXT, nth INTEGER,
        code TEXT NOT NULL, number TEXT NOT NULL, sender TEXT NOT NULL, receiver TEXT NOT NULL, at REAL NOT NULL,
        document TEXT NOT NULL, file TEXT NOT NULL,
        content BLOB, -- NULL as soon as the answer's file is in its place
        PRIMARY KEY (company, sha256, nth)
    );
CREATE TABLE changes (
        folder TEXT PRIMARY KEY, counted INTEGER NOT NULL, marked INTEGER NOT NULL, least INTEGER NOT NULL
    );
INSERT INTO "changes" VALUES('f1',13,12,0);
CREATE TABLE documents (
        id TEXT PRIMARY KEY,
        revision INTEGER NOT NULL,
        open INTEGER NOT NULL, -- unfinished, or finished and not yet put away
        company TEXT NOT NULL, folder TEXT NOT NULL, account TEXT NOT NULL, identity TEXT NOT NULL,
        state TEXT NOT NULL, place TEXT NOT NULL, file BLOB NOT NULL, dropped_as BLOB NOT NULL, claimed REAL NOT NULL,
        size INTEGER NOT NULL, sha256 TEXT NOT NULL, meaning TEXT NOT NULL,
        sender TEXT, receiver TEXT, document_id TEXT, process_id TEXT, channel TEXT NOT NULL, sources TEXT NOT NULL,
        type TEXT, number TEXT, issue_date TEXT, type_code TEXT, receiver_name TEXT, warnings TEXT NOT NULL,
        attempts INTEGER NOT NULL, unclear INTEGER NOT NULL, unexplained INTEGER NOT NULL, due REAL, first_attempt REAL,
        msg_no INTEGER, uuid TEXT, received TEXT, delivered TEXT, accepted REAL, asked INTEGER NOT NULL,
        error TEXT, history TEXT NOT NULL,
        ended REAL, -- when it was delivered, failed or taken, by our clock
        -- What it waits for, why, and since when, if that is its own: its ids, a verdict, its file.
        needs TEXT NOT NULL DEFAULT '', needs_why TEXT NOT NULL DEFAULT '', needs_since REAL
    );
INSERT INTO "documents" VALUES('01JD0000000000000000000001',1,1,'acme','f1','main','','waiting','sending',X'696E766F6963652D312E786D6C',X'696E766F6963652D312E786D6C',1795176001.0,1001,'sha-1','meaning-1','0192:987654325','0192:810418052','urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0::2.1','urn:fdc:peppol.eu:2017:poacc:billing:01:1.0','','{"sender": "document"}','Invoice','1','2026-11-20',NULL,NULL,'[]',0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,'[["2026-11-20T12:00:01+00:00", "claimed", {}]]',NULL,'','',NULL);
INSERT INTO "documents" VALUES('01JD0000000000000000000002',2,1,'acme','f1','main','acme@ap.example.com','sending','sending',X'696E766F6963652D322E786D6C',X'696E766F6963652D322E786D6C',1795176002.0,1002,'sha-2','meaning-2','0192:987654325','0192:810418052','urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0::2.1','urn:fdc:peppol.eu:2017:poacc:billing:01:1.0','','{"sender": "document"}','Invoice','2','2026-11-20',NULL,NULL,'[]',0,0,0,NULL,1795176000.0,NULL,NULL,NULL,NULL,NULL,0,NULL,'[["2026-11-20T12:00:02+00:00", "claimed", {}], ["2026-11-20T12:00:00+00:00", "sending", {}]]',NULL,'','',NULL);
INSERT INTO "documents" VALUES('01JD0000000000000000000003',2,1,'acme','f1','main','acme@ap.example.com','sent','sending',X'696E766F6963652D332E786D6C',X'696E766F6963652D332E786D6C',1795176003.0,1003,'sha-3','meaning-3','0192:987654325','0192:810418052','urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0::2.1','urn:fdc:peppol.eu:2017:poacc:billing:01:1.0','','{"sender": "document"}','Invoice','3','2026-11-20',NULL,NULL,'[]',0,0,0,NULL,1795176000.0,3,NULL,'2026-11-20T12:00:01.000+00:00',NULL,1795176000.0,0,NULL,'[["2026-11-20T12:00:03+00:00", "claimed", {}], ["2026-11-20T12:00:00+00:00", "sending", {}], ["2026-11-20T12:00:00+00:00", "accepted", {"msg_no": 3}]]',NULL,'','',NULL);
INSERT INTO "documents" VALUES('01JD0000000000000000000004',3,1,'acme','f1','main','acme@ap.example.com','doubt','sending',X'696E766F6963652D342E786D6C',X'696E766F6963652D342E786D6C',1795176004.0,1004,'sha-4','meaning-4','0192:987654325','0192:810418052','urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0::2.1','urn:fdc:peppol.eu:2017:poacc:billing:01:1.0','','{"sender": "document"}','Invoice','4','2026-11-20',NULL,NULL,'[]',0,1,0,NULL,1795176000.0,NULL,NULL,NULL,NULL,NULL,0,NULL,'[["2026-11-20T12:00:04+00:00", "claimed", {}], ["2026-11-20T12:00:00+00:00", "sending", {}], ["2026-11-20T12:00:00+00:00", "in doubt", {"why": "the answer was lost"}]]',NULL,'','',NULL);
INSERT INTO "documents" VALUES('01JD0000000000000000000005',2,1,'acme','f1','main','','failed','sending',X'696E766F6963652D352E786D6C',X'696E766F6963652D352E786D6C',1795176005.0,1005,'sha-5','meaning-5','0192:987654325','0192:810418052','urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0::2.1','urn:fdc:peppol.eu:2017:poacc:billing:01:1.0','','{"sender": "document"}','Invoice','5','2026-11-20',NULL,NULL,'[]',0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'{"code": "rejected", "message": "it was refused", "hint": "mend it"}','[["2026-11-20T12:00:05+00:00", "claimed", {}], ["2026-11-20T12:00:00+00:00", "failed", {"code": "rejected"}]]',1795176000.0,'','',NULL);
INSERT INTO "documents" VALUES('01JD0000000000000000000006',2,1,'acme','f1','main','acme@ap.example.com','sent','sent',X'362E786D6C',X'696E766F6963652D362E786D6C',1795176006.0,1006,'sha-6','meaning-6','0192:987654325','0192:810418052','urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0::2.1','urn:fdc:peppol.eu:2017:poacc:billing:01:1.0','','{"sender": "document"}','Invoice','6','2026-11-20',NULL,NULL,'[]',0,0,0,NULL,1795176000.0,6,NULL,'2026-11-20T12:00:01.000+00:00',NULL,1795176000.0,0,NULL,'[["2026-11-20T12:00:06+00:00", "claimed", {}], ["2026-11-20T12:00:00+00:00", "sending", {}], ["2026-11-20T12:00:00+00:00", "accepted", {"msg_no": 6}]]',NULL,'','',NULL);
CREATE TABLE errands (
        number INTEGER PRIMARY KEY, event TEXT NOT NULL, company TEXT NOT NULL, document TEXT NOT NULL,
        msg_no INTEGER, folder BLOB NOT NULL, file BLOB NOT NULL,
        sidecar TEXT -- of a message
    );
CREATE TABLE folders (id TEXT PRIMARY KEY, path BLOB NOT NULL, settled INTEGER NOT NULL);
INSERT INTO "folders" VALUES('f1',X'2F7372762F61636D652F6F7574626F756E64',1);
CREATE TABLE messages (
        identity TEXT,
        msg_no INTEGER,
        -- The number alone would not do: a server set up anew counts from the start again (contract 6).
        received TEXT, sender TEXT, receiver TEXT,
        state TEXT NOT NULL, company TEXT NOT NULL, folder BLOB NOT NULL, temporary BLOB NOT NULL, file BLOB NOT NULL,
        attempts INTEGER NOT NULL, due REAL, why TEXT NOT NULL,
        placed REAL, -- when it got its name, by our clock
        page INTEGER, -- attempts at its page while that is owed; NULL: none is owed
        sidecar TEXT, -- from `placing` until it is read and no page is owed
        sender_name TEXT, type TEXT, number TEXT, issue_date TEXT, -- as the document writes them
        meaning TEXT,
        repeats INTEGER, -- the number of the message that had the same document first
        wanted BLOB NOT NULL DEFAULT x'', -- the name that it is to get, unless that is taken, until it is read
        sha256 TEXT, revision INTEGER NOT NULL DEFAULT 1, -- of the document's bytes
        PRIMARY KEY (identity, msg_no, received, sender, receiver)
    );
INSERT INTO "messages" VALUES('acme@ap.example.com',1,'2026-11-20T08:00:01+01:00','0192:1','0192:2','named','acme',X'2F7372762F61636D652F696E626F756E64',X'2E30312E70617274',X'312E786D6C',0,NULL,'',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'',NULL,1);
INSERT INTO "messages" VALUES('acme@ap.example.com',2,'2026-11-20T08:00:02+01:00','0192:1','0192:2','placing','acme',X'2F7372762F61636D652F696E626F756E64',X'2E30322E70617274',X'322E786D6C',0,NULL,'',1795158002.0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'',NULL,1);
INSERT INTO "messages" VALUES('acme@ap.example.com',3,'2026-11-20T08:00:03+01:00','0192:1','0192:2','read','acme',X'2F7372762F61636D652F696E626F756E64',X'2E30332E70617274',X'332E786D6C',0,NULL,'',1795158003.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'',NULL,1);
INSERT INTO "messages" VALUES('acme@ap.example.com',4,'2026-11-20T08:00:04+01:00','0192:1','0192:2','stuck','acme',X'2F7372762F61636D652F696E626F756E64',X'2E30342E70617274',X'342E786D6C',2,1795176000.0,'it is no XML',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'',NULL,1);
CREATE TABLE responses (
        identity TEXT, msg_no INTEGER, received TEXT, nth INTEGER,
        company TEXT NOT NULL, sender TEXT NOT NULL, receiver TEXT NOT NULL, number TEXT NOT NULL,
        type_code TEXT NOT NULL, issue_date TEXT NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL, at REAL NOT NULL,
        document TEXT NOT NULL, owed_to TEXT NOT NULL, words TEXT NOT NULL DEFAULT 'response',
        PRIMARY KEY (identity, msg_no, received, nth)
    );
CREATE TABLE restored (document TEXT PRIMARY KEY);
CREATE TABLE surplus (
        identity TEXT, msg_no INTEGER, received TEXT, document TEXT NOT NULL, PRIMARY KEY (identity, msg_no)
    );
CREATE TABLE totals (
        company TEXT,
        event TEXT, -- sent, delivered, failed, or received
        code TEXT, -- of what failed
        number INTEGER NOT NULL,
        accepted REAL, -- when the last one was
        PRIMARY KEY (company, event, code)
    );
CREATE TABLE waivers (
        folder TEXT, file BLOB, sha256 TEXT NOT NULL, modified INTEGER NOT NULL, PRIMARY KEY (folder, file)
    );
INSERT INTO "waivers" VALUES('f1',X'616761696E2E786D6C','sha-9',123);
CREATE TABLE wanted (event TEXT PRIMARY KEY);
CREATE INDEX documents_msg_no ON documents (identity, msg_no);
CREATE INDEX documents_dropped_as ON documents (dropped_as);
CREATE INDEX documents_meaning ON documents (meaning);
CREATE INDEX documents_number ON documents (number);
CREATE INDEX documents_content ON documents (sha256, folder) WHERE open;
CREATE INDEX documents_step ON documents (folder, state, place, due) WHERE open;
CREATE INDEX documents_place ON documents (folder, place, file) WHERE open;
CREATE INDEX documents_on_their_way ON documents (state, identity, place, due) WHERE open;
CREATE INDEX documents_needs ON documents (folder, needs, due) WHERE open AND needs <> '';
CREATE INDEX documents_accepted ON documents (company, accepted) WHERE accepted IS NOT NULL;
CREATE INDEX documents_ended ON documents (company, state, ended) WHERE ended IS NOT NULL;
CREATE INDEX messages_number ON messages (msg_no);
CREATE INDEX messages_placed ON messages (company, placed) WHERE placed IS NOT NULL;
CREATE INDEX messages_document ON messages (company, number, issue_date, type, (replace(replace(replace(lower(sender), 'iso6523-actorid-upis::', ''), '9925:be', '0208:'), '0246:de', '9930:de')))
    WHERE number IS NOT NULL
    ;
CREATE INDEX messages_meaning ON messages (company, meaning, (replace(replace(replace(lower(sender), 'iso6523-actorid-upis::', ''), '9925:be', '0208:'), '0246:de', '9930:de')))
    WHERE meaning IS NOT NULL
    ;
CREATE INDEX messages_content ON messages (company, sha256) WHERE sha256 IS NOT NULL;
CREATE INDEX messages_repeats ON messages (company, placed) WHERE repeats IS NOT NULL;
CREATE INDEX messages_state ON messages (identity, state);
CREATE INDEX messages_drafts ON messages (folder) WHERE state IN ('named', 'placing');
CREATE INDEX messages_pages ON messages (page) WHERE page IS NOT NULL;
CREATE INDEX responses_waiting ON responses (number, (replace(replace(replace(lower(sender), 'iso6523-actorid-upis::', ''), '9925:be', '0208:'), '0246:de', '9930:de')), at)
    WHERE document = ''
    ;
CREATE INDEX responses_of_platforms ON responses (number, at)
    WHERE document = '' AND code GLOB '[0-9][0-9][0-9]'
    ;
CREATE INDEX responses_untied ON responses (at) WHERE document IN ('', '?');
CREATE INDEX responses_tied ON responses (document, code, at) WHERE document <> '';
CREATE INDEX responses_owed ON responses (owed_to) WHERE owed_to <> '';
CREATE INDEX responses_rejected ON responses (document, sender, number, at)
    WHERE document <> '' AND code IN ('RE', '210', '213', '501')
    ;
CREATE INDEX documents_uuid ON documents (uuid) WHERE uuid IS NOT NULL;
CREATE INDEX answers_owed ON answers (company) WHERE content IS NOT NULL;
CREATE INDEX documents_to_be_answered ON documents (ended) WHERE state = 'delivered' AND process_id = 'urn:peppol:bis:billing_with_response' AND type IN ('Invoice', 'CreditNote');
CREATE INDEX messages_expecting ON messages (due) WHERE due IS NOT NULL AND state = 'read';
CREATE TRIGGER total_insert AFTER INSERT ON documents WHEN NEW.open AND NEW.state = 'failed' BEGIN
        
        INSERT INTO totals VALUES (NEW.company, NEW.state, coalesce(json_extract(NEW.error, '$.code'), ''), 1, NEW.accepted) ON CONFLICT (company, event, code) DO UPDATE
        SET number = totals.number + 1, accepted = excluded.accepted;

    END;
CREATE TRIGGER total_update AFTER UPDATE OF state ON documents
    WHEN NEW.state <> OLD.state AND NEW.state IN ('sent', 'delivered', 'failed') BEGIN
        
        INSERT INTO totals VALUES (NEW.company, NEW.state, coalesce(json_extract(NEW.error, '$.code'), ''), 1, NEW.accepted) ON CONFLICT (company, event, code) DO UPDATE
        SET number = totals.number + 1, accepted = excluded.accepted;

    END;
CREATE TRIGGER total_received AFTER UPDATE OF state ON messages
    WHEN NEW.state = 'read' AND OLD.state IN ('named', 'placing') BEGIN
        
        INSERT INTO totals VALUES (NEW.company, 'received', '', 1, NULL) ON CONFLICT (company, event, code) DO UPDATE
        SET number = totals.number + 1, accepted = excluded.accepted;

    END;
CREATE TRIGGER errand_of_document AFTER UPDATE ON documents
    WHEN OLD.open AND NOT NEW.open AND NEW.state IN ('delivered', 'failed') BEGIN
        INSERT INTO errands (event, company, document, folder, file)
        SELECT event, NEW.company, NEW.id, x'', x'' FROM wanted WHERE event = NEW.state;
    END;
CREATE TRIGGER errand_of_message AFTER UPDATE ON messages
    WHEN NEW.state = 'read' AND NEW.page IS NULL AND (OLD.state <> 'read' OR OLD.page IS NOT NULL) BEGIN
        INSERT INTO errands (event, company, document, msg_no, folder, file, sidecar)
        SELECT event, NEW.company, '', NEW.msg_no, NEW.folder, NEW.file, NEW.sidecar
        FROM wanted WHERE event = 'received' AND NEW.company <> '';
        UPDATE messages SET sidecar = NULL WHERE rowid = NEW.rowid;
    END;
CREATE TRIGGER count_insert AFTER insert ON documents BEGIN
            INSERT INTO changes VALUES (NEW.folder, 1, 0, 0) ON CONFLICT (folder) DO UPDATE SET counted = counted + 1;
        END;
CREATE TRIGGER count_update AFTER update ON documents BEGIN
            INSERT INTO changes VALUES (NEW.folder, 1, 0, 0) ON CONFLICT (folder) DO UPDATE SET counted = counted + 1;
        END;
COMMIT;
