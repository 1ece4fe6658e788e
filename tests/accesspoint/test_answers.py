"""The access point's XML, in all the shapes that it comes in."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from filedrop.accesspoint import answers
from filedrop.accesspoint.answers import clean
from filedrop.errors import NoClearAnswer
from filedrop.model.message import Message

DOCUMENTED = b"""<?xml version="1.0" encoding="UTF-8"?>
<inbox-query-response version="1.0" xmlns="http://peppol.example/ns">
  <navigation><previous>https://h/inbox?index=1</previous><next>https://h/inbox?index=3&amp;x=1</next></navigation>
  <messages>
    <message><self>https://h/inbox/5</self><xml-document>https://h/messages/5/xml-document</xml-document>
      <message-meta-data><msg-no>5</msg-no><direction>IN</direction><received>2026-11-20T12:00:00.123+01:00</received>
      <delivered>2026-11-20T13:00:00+01:00</delivered><uuid>uuid:abc-1</uuid>
      <peppol-header><sender> 0192:1 </sender><receiver>0192:2</receiver><channel>c</channel>
      <document-id>urn:d::D##c::2.1</document-id><process-id>urn:p</process-id></peppol-header></message-meta-data></message>
    <message><message-meta-data><msg-no>6</msg-no></message-meta-data></message>
  </messages>
</inbox-query-response>"""

DEPLOYED = b"""<p:inbox-query-response xmlns:p="urn:other" version="1.0"><accountId>9</accountId><messageList>
<message><message-meta-data><peppol-header><process-name>x</process-name><process-id>urn:p</process-id>
<document-id>urn:d::D##c::2.1</document-id><channel>c</channel><receiver>0192:2</receiver><sender>0192:1</sender>
<document-type><msg-no>77</msg-no></document-type></peppol-header><uuid>abc-1</uuid>
<delivered>2026-11-20T13:00:00+01:00</delivered>
<received>2026-11-20T12:00:00.123+01:00</received><direction>IN</direction><msg-no>5</msg-no></message-meta-data>
<xml-document>https://h/messages/5/xml-document</xml-document></message></messageList></p:inbox-query-response>"""

FIVE = Message(
    msg_no=5,
    direction="IN",
    received="2026-11-20T12:00:00.123+01:00",
    delivered="2026-11-20T13:00:00+01:00",
    uuid="abc-1",
    sender="0192:1",
    receiver="0192:2",
    channel="c",
    document_id="urn:d::D##c::2.1",
    process_id="urn:p",
    link="https://h/messages/5/xml-document",
)


def test_both_shapes() -> None:
    """A message is the same in the documented shape and the deployed one: any namespace, order, wrapper or addition."""
    assert answers.page(DOCUMENTED).messages == (FIVE, Message(6))
    assert answers.page(DEPLOYED).messages == (FIVE,)


def test_schemes_before_ids() -> None:
    """The names of the schemes before ids are no part of them, in a list and in the directory's answer."""
    listed = DEPLOYED
    for id_, scheme in (
        (b"0192:", b"iso6523-actorid-upis"),
        (b"urn:d:", b"busdox-docid-qns"),
        (b"urn:p<", b"cenbii-procid-ubl"),
    ):
        listed = listed.replace(b">" + id_, b">" + scheme + b"::" + id_)
    assert listed.count(b"::urn:p<") == 1
    assert answers.page(listed).messages == (FIVE,)
    accepted = (
        b"<directory-response><accepted-document-transfer><DocumentID>peppol-doctype-wildcard::urn:d::D##c*::2.1"
        b"</DocumentID><ProcessID>cenbii-procid-ubl::urn:p</ProcessID></accepted-document-transfer></directory-response>"
    )
    assert answers.accepted(accepted) == (("urn:d::D##c*::2.1", "urn:p"),)


def test_navigation() -> None:
    """The link to the next page is found; a list without navigation is told from one that has ended."""
    page = answers.page(DOCUMENTED)
    assert (page.next, page.has_navigation) == ("https://h/inbox?index=3&x=1", True)
    page = answers.page(DEPLOYED)
    assert (page.next, page.has_navigation) == (None, False)
    page = answers.page(b"<outbox-query-response><navigation><next/></navigation></outbox-query-response>")
    assert (page.next, page.has_navigation, page.messages) == (None, True, ())


def test_single_message() -> None:
    """A single answer has its message right under the root, or wrapped."""
    one = b"<message><message-meta-data><msg-no>7</msg-no></message-meta-data></message>"
    for body in (one, b"<messages>" + one + b"</messages>"):
        assert answers.page(b"<outbox-query-response>" + body + b"</outbox-query-response>").messages == (Message(7),)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not xml",
        b"<inbox-query-response>",
        b"<html><body>Log in</body></html>",
        b"<!DOCTYPE html><html/>",
        b"<error-response/>",
        b"<statistics/>",
        b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><inbox-query-response>&e;</inbox-query-response>',
        b"<!DOCTYPE x><inbox-query-response/>",
        "<!DOCTYPE x><inbox-query-response/>".encode("utf-16"),
        b"<inbox-query-response>&undefined;</inbox-query-response>",
        b"<inbox-query-response>" + b"<a>" * 5000 + b"</a>" * 5000 + b"</inbox-query-response>",
    ],
)
def test_no_answer(body: bytes) -> None:
    """What is not an answer of the interface is no empty list, and nothing in it is resolved."""
    with pytest.raises(NoClearAnswer):
        answers.page(body)


def test_empty_answer() -> None:
    """An empty answer is said to be empty."""
    with pytest.raises(NoClearAnswer, match="the access point's answer is empty"):
        answers.page(b" \n")


def test_entities_in_an_attribute() -> None:
    """Entities nested to explode in an attribute don't."""
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 20}">' for n in range(1, 10))
    body = f'<!DOCTYPE x [<!ENTITY e0 "boom">{entities}]><inbox-query-response version="&e9;"/>'
    with pytest.raises(NoClearAnswer):
        answers.page(body.encode())


@pytest.mark.parametrize("number", ["", "x", "-5", "0", "1.5", "9" * 19, "9" * 5000, "٣"])
def test_message_without_number(number: str) -> None:
    """A list with a message that can't be named is refused as a whole: it must not look as if it weren't there."""
    data = f"<message-meta-data><msg-no>{number}</msg-no></message-meta-data>"
    with pytest.raises(NoClearAnswer):
        answers.page(f"<inbox-query-response><message>{data}</message></inbox-query-response>".encode())


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2016-11-04T08:51:51.778+01:00", datetime(2016, 11, 4, 7, 51, 51, 778000, UTC)),
        ("2016-11-04T08:51:51+01:00", datetime(2016, 11, 4, 7, 51, 51, 0, UTC)),
        ("2016-11-04T07:51:51Z", datetime(2016, 11, 4, 7, 51, 51, 0, UTC)),
        ("2016-11-04T07:51:51", None),
        ("yesterday", None),
        ("0001-01-01T00:00:00+14:00", None),
        (None, None),
    ],
)
def test_received_at(written: str | None, moment: datetime | None) -> None:
    """`received` is a moment with or without milliseconds; what can't be read, or has no offset, is none."""
    assert Message(1, received=written).received_at == moment


def test_statistics() -> None:
    """Figures are read from attributes in camelCase or snake_case; an empty date is none."""
    for last, undelivered in (("lastDownloaded", "oldestUndelivered"), ("last_downloaded", "oldest_undelivered")):
        figures = answers.statistics(
            f"""<statistics><account name="Acme" contact_email="a@b.c"><messages total="9"><in total="4" undelivered="1"
            {last}="2026-11-20T12:00:00+01:00" {undelivered}="2026-11-19T12:00:00+01:00"/>
            <out total="5" undelivered="" lastSent=""/></messages></account></statistics>""".encode()
        )
        assert (figures.account, figures.contact_email, figures.total) == ("Acme", "a@b.c", 9)
        assert figures.incoming.last == "2026-11-20T12:00:00+01:00"
        assert figures.incoming.oldest_undelivered == "2026-11-19T12:00:00+01:00"
        assert (figures.outgoing.total, figures.outgoing.undelivered, figures.outgoing.last) == (5, None, None)


def test_accepted_pairs() -> None:
    """Pairs are read, halves are not."""
    body = b"""<directory-response xmlns="urn:x"><accepted-document-transfer><ProcessID>p</ProcessID><DocumentID>d
    </DocumentID></accepted-document-transfer><accepted-document-transfer><DocumentID>e</DocumentID>
    </accepted-document-transfer></directory-response>"""
    assert answers.accepted(body) == (("d", "p"),)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Wrong documentId value: urn:x", "Wrong documentId value: urn:x"),
        ("  a\r\n\tb  ", "a b"),
        ("\x1b[2J\x1b[31mred\x1b[0m", "red"),
        ("\x9b31mC1", "31mC1"),
        ("a\x00b\x07c", "a b c"),
        ("invoice\u202efdp.exe", "invoice fdp.exe"),
        ("line\u2028break\u200bzero", "line break zero"),
        ("blåbær", "blåbær"),
        ("x" * 600, "x" * 499 + "…"),
        (("x " * 300).rstrip(), ("x " * 300)[:499] + "…"),
        ("\n" * 10_000_000, ""),
    ],
)
def test_clean(said: str, shown: str) -> None:
    """The access point's words can drive no terminal, hide nothing, fill no screen."""
    assert clean(said) == shown


def test_values_are_clean() -> None:
    """So are the values of a message."""
    header = "<peppol-header><channel>a\x9b2J\nb</channel></peppol-header>"
    data = f"<message-meta-data><msg-no>1</msg-no>{header}</message-meta-data>"
    body = f"<inbox-query-response><message>{data}</message></inbox-query-response>"
    assert answers.page(body.encode()).messages[0].channel == "a 2J b"
