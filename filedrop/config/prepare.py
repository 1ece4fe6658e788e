"""The section `prepare`: what is changed in a document before it is posted."""

from datetime import timedelta
from typing import Literal

from filedrop.config.section import Section
from filedrop.config.values import Duration, MaxSize


class Prepare(Section):
    """What is changed in a document before it is posted.

    `pdf`: whether the PDF of the same name is put into it, or only moves with it. A document waits
    `pdf_wait` for one that may be missing. A PDF that is larger than `pdf_size`, or `pdf_older` than its document, is
    refused.
    """

    ids: bool = False
    pdf: Literal["off", "beside", "embed", "require"] = "off"
    pdf_wait: Duration = timedelta(seconds=10)
    pdf_size: MaxSize = 10 * 10**6
    pdf_older: Duration = timedelta(hours=1)

    @property
    def has_pdfs(self) -> bool:
        """Whether PDFs belong to documents, and move with them."""
        return self.pdf != "off"

    @property
    def puts_pdfs(self) -> bool:
        """Whether PDFs are put into documents."""
        return self.pdf in ("embed", "require")

    @property
    def is_on(self) -> bool:
        """Whether anything is changed."""
        return self.ids or self.puts_pdfs

    @property
    def what(self) -> str:
        """What is changed, in the words of the configuration: `ids, pdf`."""
        return ", ".join([*(["ids"] if self.ids else ()), *(["pdf"] if self.puts_pdfs else ())])
