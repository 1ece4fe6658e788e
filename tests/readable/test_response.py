"""The reason for which a receiver rejects a document, in words, wherever a response states it."""

from __future__ import annotations

import io

import pytest
from support.responses import order_response, response

from filedrop.readable.response import LONGEST_VALUE, replies_in

PLAIN = response("1001", reason="").replace(
    b"<cac:Status><cbc:StatusReasonCode>REF</cbc:StatusReasonCode><cbc:StatusReason></cbc:StatusReason></cac:Status>",
    b"",
)

CONDITION = (
    "<cac:Condition><cbc:AttributeID>BT-13</cbc:AttributeID><cbc:Description>PO-7</cbc:Description></cac:Condition>"
)


def reason_of(*, status: str = "", lines: str = "") -> str:
    """The reason in a response with this in its Response, and with these LineResponses."""
    content = PLAIN.replace(b"</cac:Response>", f"{status}</cac:Response>".encode())
    (answer,) = replies_in(
        io.BytesIO(content.replace(b"</cac:DocumentResponse>", f"{lines}</cac:DocumentResponse>".encode()))
    )
    return answer.reason


def code(text: str, list_id: str = "OPStatusReason") -> str:
    return f'<cac:Status><cbc:StatusReasonCode listID="{list_id}">{text}</cbc:StatusReasonCode></cac:Status>'


def line(response: str, where: str = "/Invoice/cbc:ID") -> str:
    return (
        f"<cac:LineResponse><cac:LineReference><cbc:LineID>{where}</cbc:LineID></cac:LineReference>"
        f"<cac:Response><cbc:ResponseCode>RE</cbc:ResponseCode>{response}</cac:Response></cac:LineResponse>"
    )


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("", ""),
        ("<cbc:Description>No order</cbc:Description>", "No order"),
        (code("PRI"), "Prices incorrect"),
        (code(" REF "), "References incorrect"),
        (code("XYZ"), "XYZ"),
        (code("CNF", "OPStatusAction"), "Requested action: Credit fully"),
        (code("PRI") + code("CNF", "OPStatusAction"), "Prices incorrect; Requested action: Credit fully"),
        (code("OTH").replace("</cac:S", "<cbc:StatusReason>Too late</cbc:StatusReason></cac:S"), "Too late"),
        (code("REF").replace("</cac:S", f"{CONDITION}</cac:S"), "References incorrect; BT-13: PO-7"),
    ],
)
def test_of_the_document(status: str, reason: str) -> None:
    """Texts as they stand; a code, where there is no text, by what it means; and what is asked for."""
    assert reason_of(status=status) == reason


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (line("<cbc:Description>Too long</cbc:Description>"), "Too long (/Invoice/cbc:ID)"),
        (line("<cbc:Description>Too long</cbc:Description>" + code("BV", "")), "Too long (/Invoice/cbc:ID)"),
        (line(code("BV", "")), "Business rule violation, fatal (/Invoice/cbc:ID)"),
        (line(code("PRI"), "2") + line(code("QTY"), "3"), "Prices incorrect (line 2); Quantities incorrect (line 3)"),
        (line("<cbc:Description>No</cbc:Description>", "NA"), "No"),
    ],
)
def test_of_its_lines(lines: str, reason: str) -> None:
    """What stands in a line is said with the line, where one is named."""
    assert reason_of(lines=lines) == reason


def test_of_an_order() -> None:
    """An order response has its reasons in notes, of the whole and of its lines."""
    lines = (
        b"<cac:OrderLine><cac:LineItem><cbc:ID>2</cbc:ID><cbc:Note>Sold out</cbc:Note></cac:LineItem></cac:OrderLine>"
    )
    content = order_response("3001", "RE").replace(b"</OrderResponse>", lines + b"</OrderResponse>")
    (answer,) = replies_in(io.BytesIO(content))
    assert (answer.number, answer.code, answer.reason) == ("3001", "RE", "Sold out (line 2)")


def test_of_very_many_lines() -> None:
    """However many lines a response has, its reason stays short."""
    assert len(reason_of(lines=line("<cbc:Description>Too long</cbc:Description>", "7") * 1000)) <= LONGEST_VALUE
    many = "".join(line(f"<cbc:Description>Reason {nth}</cbc:Description>", str(nth)) for nth in range(1000))
    assert len(reason_of(lines=many)) <= LONGEST_VALUE


def test_the_same_twice() -> None:
    """A document that one response names twice with the same words is answered once."""
    reference = PLAIN.partition(b"<cac:DocumentReference>")[1:]
    whole = b"".join(reference).partition(b"</cac:DocumentReference>")
    content = PLAIN.replace(b"</cac:DocumentReference>", b"</cac:DocumentReference>" + whole[0] + whole[1])
    assert len(replies_in(io.BytesIO(content))) == 1
