"""Folders that seem to be on a share of another computer."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from filedrop.files import Abilities
from filedrop.files.disk import FileSystem

if TYPE_CHECKING:
    from filedrop.files import Entry
    from filedrop.storage.folder import Folder

SHARE = FileSystem("cifs", network=True)
ABILITIES = Abilities(SHARE.kind, local=False, renames=False, inodes=False)


def on_a_share(folder: Folder) -> None:
    """Have a folder that was taken up go by what it can do on a share, until it is looked at again."""
    folder.trial._abilities = ABILITIES
    for directory in folder._tree._kept.values():
        directory.abilities = ABILITIES


def copied(file: Entry, name: Entry) -> None:
    """A link as mergerfs and sshfs make it: the second name has another inode."""
    with file.path.open("rb") as source, name.path.open("xb") as target:
        shutil.copyfileobj(source, target)
