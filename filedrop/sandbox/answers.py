"""The XML that the sandbox answers with (Resources and their fields), in either dialect."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from filedrop.sandbox.message import Direction

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from filedrop.sandbox.dialect import Dialect
    from filedrop.sandbox.message import Message, Traffic


@dataclass(frozen=True, slots=True)
class Answers:
    """Writes answers in a dialect, with links below `base`; `account_id` is the account's number."""

    dialect: Dialect
    base: str
    account_id: int

    def page(self, root: str, messages: Iterable[Message], links: Mapping[str, str]) -> bytes:
        """A list of messages; `links` are the `next` and `previous` pages: without any, `navigation` is left out."""
        answer = self._root(root)
        if links:
            _fill(SubElement(answer, "navigation"), links)
        listed = SubElement(answer, "messages")
        for message in messages:
            self._write(message, listed)
        return self._whole(answer)

    def single(self, root: str, message: Message, *, delivered: bool = True) -> bytes:
        """The one message that was asked for; `delivered=False` leaves that element out."""
        answer = self._root(root)
        if self.dialect.single_in_list:
            self._write(message, SubElement(answer, "messages"), delivered=delivered)
        else:
            if root == "outbox-query-response":  # field notes, Single-message answers
                SubElement(answer, "navigation")
            self._write(message, answer, delivered=delivered)
        return self._whole(answer)

    def posted(self, message: Message) -> bytes:
        """The answer to a new message, which is right below the root in both dialects and has not been stored yet."""
        answer = self._root("outbox-post-response")
        self._write(message, answer, stored=False)
        return self._whole(answer)

    def directory(self, pairs: Iterable[tuple[str, str]]) -> bytes:
        """The DocumentIDs and ProcessIDs that a recipient accepts."""
        answer = self._root("directory-response")
        for document_id, process_id in pairs:
            _fill(
                SubElement(answer, "accepted-document-transfer"), {"DocumentID": document_id, "ProcessID": process_id}
            )
        return self._whole(answer)

    def statistics(self, account: str, incoming: Traffic, outgoing: Traffic) -> bytes:
        """What an account has sent and received."""
        last_downloaded, last_sent, oldest_undelivered = self.dialect.statistics_names
        answer = self._root("statistics")
        about = SubElement(answer, "account", name=account, contact_email=f"{account}@sandbox.example")
        messages = SubElement(about, "messages", total=str(incoming.total + outgoing.total))
        for name, traffic, last_name, last in (
            ("in", incoming, last_downloaded, incoming.last_delivered),
            ("out", outgoing, last_sent, outgoing.last_received),
        ):
            way = SubElement(messages, name, total=str(traffic.total), undelivered=str(traffic.undelivered))
            way.set(last_name, self._moment(last))
            if oldest_undelivered is not None:
                way.set(oldest_undelivered, self._moment(traffic.oldest_undelivered))
        return self._whole(answer)

    def link(self, message: Message) -> str:
        """A message's `self`: in the box where its direction says, from /messages too."""
        return f"{self.base}/{'inbox' if message.direction is Direction.IN else 'outbox'}/{message.msg_no}"

    def _root(self, name: str) -> Element:
        return Element(name, {"version": "1.0"} | ({"xmlns": self.dialect.namespace} if self.dialect.namespace else {}))

    def _whole(self, answer: Element) -> bytes:
        indent(answer)
        whole: bytes = tostring(answer, encoding="UTF-8", xml_declaration=self.dialect.declaration)
        return whole

    def _write(self, message: Message, parent: Element, *, delivered: bool = True, stored: bool = True) -> None:
        element = SubElement(parent, "message")
        document = f"{self.base}/messages/{message.msg_no}/xml-document"
        _fill(element, {"self": self.link(message), "xml-document": document})
        facts = SubElement(element, "message-meta-data")
        _fill(facts, {"msg-no": str(message.msg_no)})
        if self.dialect.more_elements:
            _fill(SubElement(facts, "accountId"), {"id": str(self.account_id)})
        _fill(facts, {"direction": message.direction})
        _fill(facts, {"received": self._moment(message.received, stored=stored)})
        if delivered and message.delivered is not None:
            _fill(facts, {"delivered": self._moment(message.delivered)})
        transferred = message.direction is Direction.IN or message.delivered is not None
        if transferred or self.dialect.uuid_at_once:
            _fill(facts, {"uuid": self.dialect.uuid_prefix + message.uuid})
        header = SubElement(facts, "peppol-header")
        _fill(header, {"sender": message.sender, "receiver": message.receiver, "channel": message.channel})
        if self.dialect.more_elements:  # field notes, Namespaces, declaration: each before its id
            _fill(header, {"document-type": message.document_id.partition("##")[0].rpartition("::")[2]})
            _fill(header, {"document-id": message.document_id})
            _fill(header, {"process-name": message.process_id.rpartition(":")[2], "process-id": message.process_id})
        else:
            _fill(header, {"document-id": message.document_id, "process-id": message.process_id})

    def _moment(self, moment: datetime | None, *, stored: bool = True) -> str:
        if moment is None:
            return ""
        dialect, written = self.dialect, moment.astimezone(self.dialect.zone)
        if stored and dialect.stored_seconds:
            goes_up = dialect.stored_seconds == "rounded up" and written.microsecond > 0
            written = written.replace(microsecond=0) + timedelta(seconds=goes_up)
        if stored and dialect.stored_zone:
            written = written.replace(tzinfo=dialect.stored_zone)
        return written.isoformat(timespec=dialect.timespec)


def _fill(element: Element, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        SubElement(element, name).text = text
