"""`filedrop messages`, `download`, `read` and `statistics`: the access point's own view, one account at a time."""

from __future__ import annotations

import re
import tempfile
from dataclasses import asdict
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from filedrop.cli.opening import choose_account, open_access_point, open_config
from filedrop.cli.show import say, show_json, show_table
from filedrop.document import same_participant
from filedrop.errors import FiledropError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from filedrop.accesspoint import AccessPoint, Message

ACCOUNT = click.option("--account", metavar="NAME", help="Whose; may be left out where there is one account.")
JSON = click.option("--json", "as_json", is_flag=True, help="One object a line.")
COLUMNS = ("msg_no", "direction", "received", "delivered", "sender", "receiver", "document_id")
