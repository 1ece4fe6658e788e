"""Mapping rules: what an administrator can mend with a line of YAML."""

from __future__ import annotations

import io
import os
import re
import sys
import textwrap
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.documents import BUYER, SELLER, envelope, invoice, order
from support.notes import whole

from filedrop.config import parse
from filedrop.errors import ConfigError, DocumentError, Unanswered
from filedrop.identify import Identity, identify, read
from filedrop.identify.mapping import Rules, Table
from filedrop.identify.xpath_tree import Unfit, search

if TYPE_CHECKING:
    from pathlib import Path


local_disk = pytest.mark.skipif(sys.platform == "darwin", reason="macOS doesn't tell what kind a disk is")


def rules_of(folder: Path, mapping: str, tables: str = "{}", former: Rules | None = None) -> Rules:
    config = parse(
        f"accounts: {{main: {{base_url: https://ap.example.com, username: acme, password_env: PASSWORD}}}}\n"
        f"root: {folder / 'root'}\nstate: {folder / 'state'}\n"
        f"companies: {{acme: {{participants: ['{SELLER}']}}, other: {{participants: []}}}}\n"
        f"mapping:\n{textwrap.indent(textwrap.dedent(mapping).strip(), '  ')}\ntables: {tables}\n"
    )
    return Rules(config.mapping, config.tables, former=former)


def mapped(rules: Rules, document: bytes, file_name: str = "", company: str = "acme") -> Identity:
    reading = read(io.BytesIO(document), xpaths=rules.xpaths)
    return identify(reading, company=company, file_name=file_name, mapping=rules)


def test_text(tmp_path: Path) -> None:
    """A rule's text comes before what the document says, and the rule is named as the source."""
    identity = mapped(
        rules_of(tmp_path, "- {document: Order, sender: '0192:1'}\n- {receiver: '0192:2', channel: post}"), invoice()
    )
    assert (identity.sender, identity.receiver, identity.channel) == (SELLER, "0192:2", "post")
    assert identity.sources["receiver"] == "mapping 2"
    assert identity.sources["sender"] == "document"


def test_first_match(tmp_path: Path) -> None:
    """Each field is settled on its own, by the first rule that matches and has a value for it."""
    rules = rules_of(
        tmp_path,
        """
        - {company: other, receiver: "0192:1"}
        - {file: 'INV-(?P<customer>[0-9]+)?.*', receiver: "0192:{customer}", channel: first}
        - {receiver: "0192:3", channel: second}
        """,
    )
    assert mapped(rules, invoice(), "inv-2.xml").receiver == "0192:2"
    without = mapped(rules, invoice(), "INV-x.xml")
    assert (without.receiver, without.channel) == ("0192:3", "first")
    assert mapped(rules, invoice(), "INV-2.xml", "other").receiver == "0192:1"


def test_conditions(tmp_path: Path) -> None:
    """All conditions must hold; the file's is for its whole name, the customization's is a glob."""
    rule = (
        "- {company: acme, file: 'a.*xml', document: Invoice, customization: 'urn:cen.eu:en16931:2017*', channel: it}"
    )
    rules = rules_of(tmp_path, rule)
    assert mapped(rules, invoice(), "A1.XML").channel == "it"
    for document, name, company in [
        (invoice(), "a1.xml.old", "acme"),
        (invoice(), "a1.xml", "other"),
        (invoice(customization="urn:x"), "a1.xml", "acme"),
        (order(), "a1.xml", "acme"),
    ]:
        assert mapped(rules, document, name, company).channel == ""


def test_tries(tmp_path: Path) -> None:
    """For each rule one can see why it did not apply, what it set, and what it could not set."""
    rules = rules_of(tmp_path, "- {document: Order, channel: a}\n- {receiver: {xpath: //Nothing}, channel: b}")
    reading = read(io.BytesIO(invoice()), xpaths=rules.xpaths)
    first, second = rules.tries(reading, company="acme", file_name="a.xml")
    assert (first.rule, first.refusal, first.values) == (1, "it is for documents of type Order, not Invoice", {})
    assert (second.refusal, second.values, second.unset) == (
        "",
        {"channel": "b"},
        {"receiver": "//Nothing finds nothing"},
    )


@pytest.mark.parametrize(
    ("xpath", "found"),
    [
        ("/Invoice/BuyerReference", "Purchasing"),
        ("/ubl:Invoice/cbc:BuyerReference", "Purchasing"),
        ("//BuyerReference[. = 'Purchasing']/text()", "Purchasing"),
        ("concat('0192:', //cac:AccountingCustomerParty//cbc:EndpointID)", "0192:810418052"),
        ("//AccountingCustomerParty//EndpointID/@schemeID", "0192"),
        ("substring-after('a:b', ':')", "b"),
        ("//ID", "1001"),
        ("concat('order-', //Nothing)", "order-"),
        ("count(//InvoiceLine)", "1"),
        ("//InvoiceLine/ancestor::cac:Nothing", ""),
        ("number(//Nothing)", ""),
        ("//InvoiceLine = 'x'", ""),
        ("count(//InvoiceLine) = 1", "true"),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_xpath(tmp_path: Path, xpath: str, found: str, wrapped: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """An XPath finds its text with or without prefixes, and inside an envelope too; an element counts by its text."""
    rules = rules_of(tmp_path, f'- {{channel: {{xpath: "{xpath}"}}}}')
    assert mapped(rules, envelope(invoice()) if wrapped else invoice()).channel == found


def test_xpath_large(tmp_path: Path) -> None:
    """An XPath reaches over an attachment of many megabytes to what stands behind it."""
    rules = rules_of(tmp_path, "- {channel: {xpath: //InvoiceLine/ID}}")
    assert mapped(rules, invoice(size=20_000_000)).channel == "1"


def test_xpath_limits(tmp_path: Path) -> None:
    """So that memory stays flat, an XPath sees 2,000 characters of a text, and 50,000 elements of a document."""
    rules = rules_of(tmp_path, "- {channel: {xpath: string-length(//Note)}}")
    assert mapped(rules, invoice(note="x" * 3000)).channel == "2000"
    long = invoice().replace(b"<cbc:DueDate>", b"<cbc:Note/>" * 50_000 + b"<cbc:DueDate>")
    rules = rules_of(tmp_path, "- {channel: {xpath: //IssueDate}, sender: {xpath: //BuyerReference}}")
    identity = mapped(rules, long)
    assert (identity.channel, identity.sources["sender"]) == ("2026-11-20", "document")


SLOW = "//a[count(//a[count(//a[count(//a[//b]) > 1]) > 1]) > 1]"
MANY = b"<a>1</a>" * 300


def test_xpath_that_takes_too_long() -> None:
    """A search that takes too long is ended, and takes no other XPath with it; the next ones begin at once."""
    tree = b"<r>%s</r>" % MANY
    assert search(["//a", SLOW], tree, patience=1.5) == {"//a": "1", SLOW: None}
    assert search(["//r/a[2]", "//b"], tree) == {"//r/a[2]": "1", "//b": ""}


def test_xpaths_at_the_same_time() -> None:
    """Two searches at the same time are two processes: neither waits for the other's."""
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(search, [SLOW], b"<r>%s</r>" % MANY, patience=3)
        assert search(["//a"], b"<a>1</a>") == {"//a": "1"}
        assert slow.result() == {SLOW: None}


def test_xpath_of_another_company(tmp_path: Path) -> None:
    """A rule's XPath isn't searched for in the documents of companies that the rule isn't for."""
    rules = rules_of(tmp_path, "- {company: acme, channel: {xpath: //a}}\n- {channel: {xpath: //b}}")
    assert (rules.xpaths_of("acme"), rules.xpaths_of("other")) == (("//a", "//b"), ("//b",))


def test_xpath_process_that_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the process can't search, the document waits: that says nothing about the document or the rule."""
    rules = rules_of(tmp_path, "- {channel: {xpath: //Note}}")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    monkeypatch.setattr("filedrop.identify.xpath_tree._idle", deque())
    reading = read(io.BytesIO(invoice()), xpaths=rules.xpaths)
    with pytest.raises(Unanswered, match="missing can't be started: No such file or directory"):
        identify(reading, file_name="a.xml", mapping=rules)


@pytest.mark.parametrize(
    ("written", "xpath", "found"),
    [
        (b"<a x='&lt;&quot;&#10;&amp;'>b</a>", "//a[@x = '<\"\n&']", "b"),
        (b"<a>1&#13;&lt;2]]&gt;</a>", "//a", "1\r<2]]>"),
        (b"<p:a xmlns:p='urn:p' p:xmlns='urn:q' p:x='1'>b</p:a>", "//a[@x = 1]", "b"),
        ("<Zahlungsträger>ü\U0001f600</Zahlungsträger>".encode(), "//Zahlungsträger", "ü\U0001f600"),
    ],
)
def test_what_xpaths_see(written: bytes, xpath: str, found: str) -> None:
    """Whatever a document has reaches the search as it is, also what means something in XML."""
    assert read(io.BytesIO(b"<r>%s</r>" % written), xpaths=[xpath]).xpaths == {xpath: found}


def test_xpath_that_cannot_be_asked(tmp_path: Path) -> None:
    """Where an XPath can't be asked now, a rule can't be answered that needs it; one that has lost needs none."""
    needs = "- {channel: {xpath: //Note}}"
    for mapping, raises in ((needs, True), (f"- {{file: '.*', channel: x}}\n{needs}", False)):
        rules = rules_of(tmp_path, mapping)
        unasked = replace(read(io.BytesIO(invoice())), xpaths={"//Note": Unfit("it crashed", is_lasting=False)})
        with pytest.raises(Unanswered) if raises else nullcontext():
            assert identify(unasked, file_name="a.xml", mapping=rules).channel == "x"


def test_an_xpath_that_cannot_be_worked_out(tmp_path: Path) -> None:
    """Where nobody can tell what a rule sets, the document doesn't go to whom it names: it fails, and that is said.

    A condition is only asked where there is something to ask, so the configuration was well.
    """
    wrong = "//BuyerReference[contains(.)]"
    rules = rules_of(tmp_path, f'- {{receiver: {{xpath: "{wrong}"}}}}')
    with pytest.raises(DocumentError) as caught:
        mapped(rules, invoice())
    assert "It is unknown what mapping 1 (line 6) sets: " in whole(caught.value)
    assert " can't be evaluated (Invalid number" in whole(caught.value)
    earlier = rules_of(tmp_path, f'- {{file: "a.*", receiver: "0192:2"}}\n- {{receiver: {{xpath: "{wrong}"}}}}')
    assert mapped(earlier, invoice(), "a.xml").receiver == "0192:2"


def test_functions_of_an_xpath(tmp_path: Path) -> None:
    """What stands before brackets and is no function is none: operators, node types, texts, names of elements."""
    for xpath in ("//a[(b) and (c) or not(d)]", "//a/ancestor::node()", "concat('who(', '(what(')", "(//a)[last()]"):
        assert rules_of(tmp_path, f'- {{channel: {{xpath: "{xpath}"}}}}').xpaths == (xpath,)


def test_bad_xpath(tmp_path: Path) -> None:
    """What is no XPath is a mistake in the configuration, with its line."""
    (tmp_path / "orders.csv").write_text("order,channel\n")
    for xpath in ("//[", "nothing-like-it()", "", '//Note[matches(., "x")]', '//Note[re:test(., "x")]'):
        for value in (f"{{xpath: '{xpath}'}}", f"{{table: orders, key: {{xpath: '{xpath}'}}}}"):
            with pytest.raises(ConfigError, match=r":6: mapping 1.channel: .* is no XPath"):
                rules_of(tmp_path, f"- {{channel: {value}}}", f"{{orders: {tmp_path / 'orders.csv'}}}")


@pytest.mark.parametrize(
    "content", ["key,value\r\n77,0192:1\r\n", "\ufeffKunde;Empfänger\n 77 ; 0192:1 \n\n", "a\tb\n77\t0192:1\n"]
)
def test_table(tmp_path: Path, content: str) -> None:
    """A table is what spreadsheets save: comma, semicolon or tab, a header row, blanks around values."""
    path = tmp_path / "customers.csv"
    path.write_text(content, encoding="utf-8")
    rule = "- {file: 'INV-(?P<customer>[0-9]+)-.*', receiver: {table: customers, key: '{customer}'}}"
    rules = rules_of(tmp_path, rule, f"{{customers: {path}}}")
    assert mapped(rules, invoice(), "INV-77-1.xml").receiver == "0192:1"
    assert mapped(rules, invoice(), "INV-78-1.xml").receiver == BUYER


def test_table_keyed_by_the_document(tmp_path: Path) -> None:
    """What an XPath finds can be the key of a table; without it, or without a row for it, the next source counts."""
    path = tmp_path / "orders.csv"
    path.write_text("order,participant\nPurchasing,0192:1\n")
    tables = f"{{orders: {path}}}"
    rule = "- {{receiver: {{table: orders, key: {{xpath: {}}}}}}}"
    assert mapped(rules_of(tmp_path, rule.format("//BuyerReference"), tables), invoice()).receiver == "0192:1"
    for xpath, why in (
        ("//OrderReference/ID", "//OrderReference/ID finds nothing"),
        ("//Note", 'the table orders has no "Thank you for your order."'),
    ):
        rules = rules_of(tmp_path, rule.format(xpath), tables)
        assert mapped(rules, invoice()).receiver == BUYER
        (tried,) = rules.tries(read(io.BytesIO(invoice()), xpaths=rules.xpaths), company="acme", file_name="")
        assert tried.unset == {"receiver": why}


@pytest.mark.parametrize("scheme", ["'0192'", "//Nothing/@schemeID"])
def test_a_scheme_alone(tmp_path: Path, scheme: str) -> None:
    """A scheme, or none, joined with nothing is nothing: the rule leaves it to the next; nobody is called `0192:`."""
    rules = rules_of(tmp_path, f"""- {{sender: {{xpath: "concat({scheme}, ':', //Nothing)"}}}}""")
    assert mapped(rules, invoice()).sources["sender"] == "document"
    assert mapped(rules, invoice(sender=None)).sender is None


@pytest.mark.parametrize("written", ["iso6523-actorid-upis::0192:1", "NO:ORGNR:1", "no:orgnr:1", "0192:1"])
def test_participants_of_a_table(tmp_path: Path, written: str) -> None:
    """A table may write a ParticipantID with its prefix, or with the scheme's name in place of its code."""
    path = tmp_path / "customers.csv"
    path.write_text(f"key,value\n77,{written}\n", encoding="utf-8")
    rules = rules_of(tmp_path, "- {receiver: {table: customers, key: '77'}}", f"{{customers: {path}}}")
    assert mapped(rules, invoice()).receiver == "0192:1"


def test_scheme_name_of_an_xpath(tmp_path: Path) -> None:
    """An XPath that joins the name of a scheme and a number gives a ParticipantID; the name alone gives nothing."""
    endpoint = "//AccountingCustomerParty//EndpointID"
    named = invoice().replace(b'schemeID="0192">810418052', b'schemeID="NO:ORGNR">810418052')
    found = rules_of(tmp_path, f"""- {{receiver: {{xpath: "concat({endpoint}/@schemeID, ':', {endpoint})"}}}}""")
    assert mapped(found, named).receiver == BUYER
    alone = rules_of(tmp_path, """- {receiver: {xpath: "concat('NO:ORGNR:', //Nothing)"}}""")
    assert mapped(alone, invoice()).sources["receiver"] == "document"


def test_schemes_of_what_a_rule_sets(tmp_path: Path) -> None:
    """The names of the schemes before a document id and a process id are no part of what a rule sets."""
    rule = (
        "- {document_id: 'busdox-docid-qns::urn:x::Y##z::1', process_id: 'cenbii-procid-ubl::urn:p', channel: 'a::b'}"
    )
    identity = mapped(rules_of(tmp_path, rule), invoice())
    assert (identity.document_id, identity.process_id, identity.channel) == ("urn:x::Y##z::1", "urn:p", "a::b")


def test_table_changes(tmp_path: Path) -> None:
    """A changed table counts at once; a broken one is reported, and the old one stays in use until it is mended."""
    path = tmp_path / "customers.csv"
    path.write_text("key,value\n1,one\n", encoding="utf-8")
    table = Table(path)
    assert table.get("1") == "one"
    for broken in ("", "key,value\n1,two,three\n", "key,value\n1,two\n1,three\n", 'key,value\n1,"two\n'):
        path.write_text(broken, encoding="utf-8")
        assert table.get("1") == "one"
        assert "customers.csv" in table.trouble
    path.write_bytes("key,value\n1,zw\xf6lf\n".encode("latin-1"))
    assert table.get("1") == "one"
    assert "UTF-8" in table.trouble
    path.unlink()
    assert table.get("1") == "one"
    assert "can't be read" in table.trouble
    path.write_text("key,value\n1,four\n", encoding="utf-8")
    assert (table.get("1"), table.trouble) == ("four", "")


def test_table_that_was_emptied(tmp_path: Path) -> None:
    """A table of which only the header is left, as after an export that failed, is reported, and its entries hold."""
    path, rule = tmp_path / "customers.csv", "- {receiver: {table: customers, key: '1'}}"
    path.write_text("key,value\n1,0192:1\n")
    rules = rules_of(tmp_path, rule, f"{{customers: {path}}}")
    assert mapped(rules, invoice()).receiver == "0192:1"
    path.write_text("key,value\n")
    assert mapped(rules, invoice()).receiver == "0192:1"
    (trouble,) = rules.troubles
    assert "no entries are left below its header" in trouble
    path.write_text("key,value\n1,0192:22\n")
    assert mapped(rules, invoice()).receiver == "0192:22"
    assert rules.troubles == []


def test_table_cut_off(tmp_path: Path) -> None:
    """While a table is half written, nobody is sent anything by the half of an id that is its last one."""
    path = tmp_path / "customers.csv"
    path.write_bytes(b"key,value\n1,0192:123456785\n")
    table = Table(path)
    assert table.get("1") == "0192:123456785"
    path.write_bytes(b"key,value\n1,0192:1234")
    assert table.get("1") == "0192:123456785"
    assert "its last line has no end" in table.trouble
    path.write_bytes(b"key,value\n1,0192:123456785\n2,0192:987654325\n")
    assert (table.get("2"), table.trouble) == ("0192:987654325", "")


def test_table_same_size(tmp_path: Path) -> None:
    """A table that changed without changing its size is read again by its time."""
    path = tmp_path / "customers.csv"
    path.write_text("key,value\n1,one\n", encoding="utf-8")
    table = Table(path)
    assert table.get("1") == "one"
    path.write_text("key,value\n1,two\n", encoding="utf-8")
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 10**9))
    assert table.get("1") == "two"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "can't be read"),
        ("", "line 1 is empty"),
        ("key,value\n1,0192:1\n2,0192:2,3\n", "line 3 has 3 columns"),
        ("key,value\n1,0192:1234", "its last line has no end"),
        ("key,value\n1,0192:1\n1,0192:2\n", '"1" is there twice'),
    ],
)
def test_table_broken_at_start(tmp_path: Path, content: str | None, why: str) -> None:
    """Until a table was read whole once, it has no answer: what needs it waits, and goes to nobody that it names."""
    path = tmp_path / "customers.csv"
    if content is not None:
        path.write_text(content)
    mapping = "- {document: Order, receiver: '0192:3'}\n- {receiver: {table: customers, key: '1'}}"
    rules = rules_of(tmp_path, mapping, f"{{customers: {path}}}")
    (trouble,) = rules.troubles
    assert why in trouble
    assert trouble.endswith("Until then, documents that need it wait")
    with pytest.raises(Unanswered, match=re.escape(why)):
        mapped(rules, invoice())
    assert mapped(rules, order()).receiver == "0192:3"
    path.write_text("key,value\n1,0192:9\n")
    assert mapped(rules, invoice()).receiver == "0192:9"
    assert rules.troubles == []


def test_table_written_just_now(tmp_path: Path) -> None:
    """A table is first used when it has not changed for `settle`; this is no trouble, but what needs it waits."""
    path = tmp_path / "customers.csv"
    path.write_text("key,value\n1,0192:1\n")
    table = Table(path, settle=3600)
    with pytest.raises(Unanswered, match="was written just now"):
        table.get("1")
    assert (table.trouble, table.doubt, table.is_settling) == ("", "", True)
    table.settle = 0.01
    while table.is_settling:
        table.await_answer(table.ask(), 5)
    assert table.get("1") == "0192:1"


@local_disk
def test_table_that_was_left_alone(tmp_path: Path) -> None:
    """On a disk of ours, a table that has not changed for `settle` before the start is used at once."""
    path = tmp_path / "customers.csv"
    path.write_text("key,value\n1,0192:1\n")
    while time.time() - path.stat().st_ctime < 0.5:
        pass
    assert Table(path, settle=0.5).get("1") == "0192:1"


def test_missing_key_of_a_changed_table(tmp_path: Path) -> None:
    """In a table that was changed just now, an entry counts at once, and a missing one only when it is left alone."""
    path = tmp_path / "customers.csv"
    path.write_text("key,value\n1,0192:1\n")
    table = Table(path)
    assert table.get("1") == "0192:1"
    table.settle = 3600
    path.write_text("key,value\n1,0192:12\n")
    assert table.get("1") == "0192:12"
    with pytest.raises(Unanswered, match="was written just now"):
        table.get("2")
    table.settle = 0
    assert table.get("2") == ""


def test_tables_of_former_rules(tmp_path: Path) -> None:
    """New rules go on with what former ones have read of a table; one that these don't have must be readable."""
    path, rule = tmp_path / "customers.csv", "- {receiver: {table: customers, key: '1'}}"
    path.write_text("key,value\n1,0192:1\n")
    first = rules_of(tmp_path, rule, f"{{customers: {path}}}")
    assert mapped(first, invoice()).receiver == "0192:1"
    path.unlink()
    again = rules_of(tmp_path, rule.replace("customers", "ours"), f"{{ours: {path}}}", former=first)
    assert mapped(again, invoice()).receiver == "0192:1"
    (trouble,) = again.troubles
    assert "can't be read" in trouble
    assert "documents that need it wait" not in trouble
    with pytest.raises(ConfigError, match=r"tables\.customers: .* can't be read"):
        rules_of(tmp_path, rule, f"{{customers: {{file: {path}, key: a, value: b}}}}", former=first)


EXPORT = "Number;Name;City;PeppolID\n1041;Fjord AS;Oslo;NO:ORGNR:810418052\n1042;Bær AS;Bergen;\n;;Oslo;0192:5\n"


def test_columns_by_their_headers(tmp_path: Path) -> None:
    """Of a file with more columns, the two that are named count; an empty value is named as that."""
    path, rule = tmp_path / "customers.csv", "- {file: '(?P<n>.*)[.]xml', receiver: {table: customers, key: '{n}'}}"
    path.write_text(EXPORT, encoding="utf-8")
    rules = rules_of(tmp_path, rule, f"{{customers: {{file: {path}, key: Number, value: PeppolID}}}}")
    assert mapped(rules, invoice(), "1041.xml").receiver == "0192:810418052"
    for number, why in (("1042", 'has "1042", but its PeppolID is empty'), ("1043", 'has no "1043"')):
        identity = mapped(rules, invoice(receiver=None), f"{number}.xml")
        assert identity.receiver is None
        assert identity.tries[0].unset == {"receiver": f"the table customers {why}"}
    assert rules.troubles == rules.doubts == []


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("Number;Name\n1041;Fjord\n", 'line 1 has no column "PeppolID"; it has Number and Name'),
        ("number;PeppolID\n1041;0192:1\n", 'line 1 has no column "Number"; it has number and PeppolID'),
        ("Number;PeppolID;PeppolID\n1041;0192:1;0192:2\n", 'line 1 has the column "PeppolID" 2 times'),
        ("Number;Name;PeppolID\n1041;Fjord; AS;0192:1\n", "line 2 has 4 columns; write as many as line 1, 3"),
        ("Number;PeppolID\n1041;0192:1\n1041;0192:2\n", 'line 3: "1041" is there twice, with different values'),
        (",".join(map(str, range(12))) + "\n", "and 9 and 2 more"),
    ],
)
def test_columns_that_are_not_right(tmp_path: Path, content: str, why: str) -> None:
    """A header that is missing or there twice is a broken table, as is a row with another number of columns."""
    path = tmp_path / "customers.csv"
    path.write_text(content)
    table = Table(path, ("Number", "PeppolID"))
    with pytest.raises(Unanswered):
        table.get("1041")
    assert why in table.trouble


def test_rows_of_one_key(tmp_path: Path) -> None:
    """Several rows of one key are one entry, where only one of them has a value; a row without a key is none."""
    path = tmp_path / "customers.csv"
    path.write_text("n,x,id\n1,a,\n1,b,0192:1\n1,c,\n,d,0192:2\n,e,0192:3\n")
    table = Table(path, ("n", "id"))
    assert (table.get("1"), table.get(""), table.trouble) == ("0192:1", "", "")


@pytest.mark.parametrize("header", ["M\u00fcller", "Mu\u0308ller"])
def test_header_in_either_form(tmp_path: Path, header: str) -> None:
    """A column is found by its header in whichever form the letters are."""
    path = tmp_path / "customers.csv"
    path.write_text(f"x,{header},id\na,1,0192:1\n", encoding="utf-8")
    assert Table(path, ("M\u00fcller", "id")).get("1") == "0192:1"


def test_table_that_was_away(tmp_path: Path) -> None:
    """A table whose share was away is the same file when that is back, and nothing is wrong with it any more."""
    file, away = tmp_path / "customers.csv", tmp_path / "away.csv"
    file.write_text("customer,participant\n1,one\n")
    table = Table(file)
    assert table.get("1") == "one"
    file.rename(away)
    assert (table.get("1"), "can't be read" in table.trouble) == ("one", True)
    away.rename(file)
    assert (table.get("1"), table.trouble) == ("one", "")


COMPOSED, DECOMPOSED = "M\u00fcller", "Mu\u0308ller"


@pytest.mark.parametrize("key", [COMPOSED, DECOMPOSED])
def test_table_key_in_either_form(tmp_path: Path, key: str) -> None:
    """A key is found in whichever form its letters are; a row with the very same letters comes first."""
    path = tmp_path / "customers.csv"
    path.write_text(f"key,value\n{COMPOSED},0192:1\nother,0192:3\n", encoding="utf-8")
    assert Table(path).get(key) == "0192:1"
    path.write_text(f"key,value\n{DECOMPOSED},0192:2\nother,0192:3\n", encoding="utf-8")
    assert Table(path).get(key) == "0192:2"
    path.write_text(f"key,value\n{COMPOSED},0192:1\n{DECOMPOSED},0192:2\n", encoding="utf-8")
    assert Table(path).get(key) == {COMPOSED: "0192:1", DECOMPOSED: "0192:2"}[key]


@pytest.mark.parametrize("written", [COMPOSED, DECOMPOSED])
@pytest.mark.parametrize("name", [COMPOSED, DECOMPOSED])
def test_file_condition_in_either_form(tmp_path: Path, written: str, name: str) -> None:
    """A rule's `file` applies to a file's name in whichever form the letters of the two are, and so does a group."""
    path = tmp_path / "customers.csv"
    path.write_text(f"key,value\n{written},0192:1\n", encoding="utf-8")
    rule = f"- {{file: '(?P<who>{written})-.*', receiver: {{table: customers, key: '{{who}}'}}}}"
    rules = rules_of(tmp_path, rule, f"{{customers: {path}}}")
    assert mapped(rules, invoice(), f"{name}-1.xml").receiver == "0192:1"
    assert mapped(rules, invoice(), "Muller-1.xml").receiver == BUYER


@pytest.mark.parametrize("name", [COMPOSED, DECOMPOSED])
def test_xpath_result_in_either_form(tmp_path: Path, name: str) -> None:
    """What an XPath finds is looked up in a table in whichever form its letters are."""
    path = tmp_path / "customers.csv"
    path.write_text(f"key,value\n{COMPOSED},0192:1\n", encoding="utf-8")
    rule = "- {receiver: {table: customers, key: {xpath: //Note}}}"
    assert mapped(rules_of(tmp_path, rule, f"{{customers: {path}}}"), invoice(note=name)).receiver == "0192:1"
