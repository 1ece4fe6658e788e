"""What can be done in a folder, as far as filedrop's promises rest on it. `trial` finds it out.

A share, or a file system in user space, may give a linked name another inode, replace a file although it was told not
to, or have no way at all to move a file without that. What only another computer could show, no trial finds out: so an
exclusive rename and inodes count only on a disk of this computer, where the kernel guarantees them, and on Windows,
where the server does. Everywhere else files are moved by links, and are recognized by their content.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Abilities:
    """What can be done in a folder. `kind` is the kernel's name for its file system ("" if unknown).

    `local`: it is on a disk of this computer: no other computer changes it, file times are by our own clock, and calls
    can't hang. `renames`: a rename replaces nothing, if it is told so. `links`: a file can get a second name, unless
    that is taken. `inodes`: a file keeps its inode when it is moved. `refusal`: why the folder can't be used, as the
    second half of a sentence; "" where it can.
    """

    kind: str
    local: bool
    renames: bool
    links: bool = True
    inodes: bool = True
    refusal: str = ""

    def __str__(self) -> str:
        """The abilities in words."""
        where = "a disk of this computer" if self.local else "a file system that others may change unseen"
        if self.local and self.renames and self.inodes:
            return f"{where} ({self.kind})"
        moves = "an exclusive rename" if self.renames else "a link" if self.links else "nothing safe"
        known = "inode" if self.inodes else "content"
        return f"{where} ({self.kind or 'unknown'}); files are moved by {moves} and recognized by their {known}"


ORDINARY = Abilities("", local=True, renames=True)
"""Those of a folder that the configuration doesn't name, such as `state`."""
