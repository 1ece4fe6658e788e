"""The statements about documents; what each is for, `documents` says."""

from __future__ import annotations

from dataclasses import fields

import sqlalchemy as sa

from filedrop.document import Document, State
from filedrop.journal.schema import DOCUMENTS, LET_THROUGH, SURPLUS, Moment
from filedrop.journal.statement import Statement, listed

COLUMNS = tuple(field.name for field in fields(Document))
# What is said of the file stays: it needn't be written again, nor what it is found by.
_FIXED = frozenset(
    {"id", "company", "folder", "account", "dropped_as", "size", "sha256", "meaning", "type", "number", "issue_date"}
)
_C = DOCUMENTS.c
_OPEN = _C.open.is_(True)
_ALL = sa.select(DOCUMENTS)
_FOLDER: sa.BindParameter[str] = sa.bindparam("in_folder")
_PLACE: sa.BindParameter[str] = sa.bindparam("in_place")
_IDENTITY: sa.BindParameter[str] = sa.bindparam("of_identity")
_IS_DUE = sa.or_(_C.due.is_(None), _C.due <= sa.bindparam("now"), _C.due > sa.bindparam("latest"))  # as `is_due`

_ASTRAY = sa.or_(
    _C.state == State.SENDING.value,
    sa.and_(_C.state == State.SENT.value, _C.place == "sending"),
    _C.state == State.DELIVERED.value,
    _C.state == State.FAILED.value,
)
_TO_BE_STEPPED = _ALL.where(_C.folder == _FOLDER, _OPEN).order_by(_C.id).limit(sa.bindparam("most"))
_ON_ITS_WAY = (_OPEN, _C.identity == _IDENTITY, _C.state == State.SENT.value, _C.place == "sent")
_NOT_BEFORE = sa.type_coerce(sa.func.min(sa.func.coalesce(_C.due, 0.0)), Moment)
_OF_STATE = _ALL.where(_C.state == sa.bindparam("in_state"), _OPEN).order_by(_C.id)
_SURPLUS_OF = sa.select(SURPLUS.c.msg_no, _C.dropped_as).where(SURPLUS.c.identity == _IDENTITY)
_THE_SAME = (_C.id == sa.bindparam("this"), _C.revision == sa.bindparam("before"))

INSERT = Statement(sa.insert(DOCUMENTS))
UPDATE = Statement(sa.update(DOCUMENTS).where(*_THE_SAME), ("open", *(name for name in COLUMNS if name not in _FIXED)))
MOVE = Statement(sa.update(DOCUMENTS).where(*_THE_SAME), ("file", "place", "open", "revision"))
WAIVE = Statement(
    sa.update(LET_THROUGH)
    .where(LET_THROUGH.c.sha256.in_([sa.bindparam("content"), sa.bindparam("this")]))
    .values(sha256=sa.bindparam("this"))
)
INSERT_WAIVER = Statement(sa.insert(LET_THROUGH).prefix_with("OR IGNORE"))
STEPS_ASTRAY = Statement(_TO_BE_STEPPED.where(_ASTRAY))
STEPS_DUE = Statement(_TO_BE_STEPPED.where(sa.or_(_ASTRAY, sa.and_(_C.state == State.WAITING.value, _IS_DUE))))
LYING_IN = Statement(_ALL.where(_C.folder == _FOLDER, _C.place == _PLACE, _OPEN))
NAMED = Statement(
    sa.select(_C.id).where(_C.folder == _FOLDER, _C.place == _PLACE, _C.file == sa.bindparam("name"), _OPEN).limit(1)
)
IN_STATE = Statement(_OF_STATE)
IN_STATE_OF = Statement(_OF_STATE.where(_C.identity == _IDENTITY))
OVERDUE = Statement(
    _ALL.where(_OPEN, _C.state == State.SENT.value, _C.accepted < sa.bindparam("accepted_before")).order_by(_C.id)
)
OPEN_LIKE = Statement(_ALL.where(_C.sha256 == sa.bindparam("content"), _C.folder == _FOLDER, _OPEN))
BY_ID = Statement(_ALL.where(_C.id == sa.bindparam("this")))
NEXT_DUE = Statement(
    sa.select(sa.type_coerce(sa.func.min(_C.due), Moment)).where(
        _C.folder == _FOLDER, _OPEN, _C.state == State.WAITING.value
    )
)
TRACKED = Statement(_ALL.where(*_ON_ITS_WAY, _IS_DUE).order_by(_C.id))
TRACKING_DUE = Statement(sa.select(_NOT_BEFORE).where(*_ON_ITS_WAY))
COUNTS = Statement(sa.select(_C.state, sa.func.count()).where(_C.folder == _FOLDER, _OPEN).group_by(_C.state))
OWNED = Statement(
    sa.union_all(
        *(
            sa.select(table.c.msg_no, table.c.received).where(
                table.c.identity == _IDENTITY, table.c.msg_no.in_(listed("numbers"))
            )
            for table in (DOCUMENTS, SURPLUS)
        )
    )
)
SURPLUS_OF = Statement(_SURPLUS_OF.join(DOCUMENTS, _C.id == SURPLUS.c.document).order_by(SURPLUS.c.msg_no))
INSERT_SURPLUS = Statement(sa.insert(SURPLUS).prefix_with("OR IGNORE"))
SAME_MEANING = Statement(_ALL.where(_C.meaning == sa.bindparam("meaning"), _C.id != sa.bindparam("this")))
SAME_NUMBER = Statement(_ALL.where(_C.number == sa.bindparam("number"), _C.id != sa.bindparam("this")))
