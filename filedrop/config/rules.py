"""`rules.yaml`, the list of a folder of validation rules (contract 8): which files hold for which documents."""

from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from pydantic import ValidationError

from filedrop.config.complaints import Complaints
from filedrop.config.reading import read
from filedrop.config.section import Section
from filedrop.config.values import OneOrSeveral, RuleFile, Several, day, read_by
from filedrop.errors import ConfigError
from filedrop.files.rights import explain

NAME = "rules.yaml"
MONTHS = (5, 11)  # in which OpenPEPPOL publishes its rules


class RuleSet(Section):
    """The rules for documents with one of these root elements and this CustomizationID, in which * is anything."""

    document: OneOrSeveral[str]
    customization: str = "*"
    rules: OneOrSeveral[RuleFile]

    def is_for(self, root: str, customization: str) -> bool:
        """Whether they are for a document with this root element (its local name) and CustomizationID."""
        return root in self.document and fnmatchcase(customization, self.customization.replace("[", "[[]"))


class RuleList(Section):
    """What rules.yaml says. `released` is the day since which its rules hold, as far as it says so."""

    released: Annotated[date | None, read_by(day)] = None
    documents: Several[RuleSet]

    def files_for(self, root: str, customization: str) -> tuple[str, ...]:
        """The files of the first set that is for such a document, in order; none where no set is."""
        return next((rule_set.rules for rule_set in self.documents if rule_set.is_for(root, customization)), ())

    @property
    def next_due(self) -> date | None:
        """The first day of the month in which the next rules are published."""
        if self.released is None:
            return None
        year, month = self.released.year, self.released.month
        later = [due for due in MONTHS if due > month]
        return self.released.replace(month=later[0], day=1) if later else self.released.replace(year + 1, MONTHS[0], 1)


def load_rules(folder: Path) -> RuleList:
    """Read and check the rules.yaml of a folder. Raises ConfigError with every complaint, as `config.load` does."""
    path = folder / NAME
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        complaint = f"{path}: can't be read: {explain(error, path)}; filedrop manual send shows how to write it"
        raise ConfigError([complaint]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path}: not UTF-8; save the file as UTF-8"]) from error
    written = read(text, str(path))
    complaints = Complaints(str(path), written)
    try:
        found = RuleList.model_validate(written.values)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            complaints.add_error(details)
        complaints.raise_any()
        raise  # never: each error is a complaint
    complaints.raise_any()
    return found
