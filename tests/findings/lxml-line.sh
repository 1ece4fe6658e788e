#!/usr/bin/env bash
# lxml 6.1.3 (libxml2 2.14.6): beyond line 65,535, an element's line is that of the text inside or behind it.
#
# libxml2 stores 16 bits of an element's line, and beyond them takes the line where a neighbouring text ends. So the
# number is too high by the line breaks of that text: by one in an indented document, by more where lines are empty.
# The errors of a schema have the same number.
. "$(dirname "$0")/shared.sh"
python lxml==6.1.3

lines() {
    python3 - <<'END'
from lxml import etree

for above in (60_000, 70_000):
    for element in ("<Note>1</Note>\n", "<Note/>\n", "<Note/>\n\n\n", "<Note>\n<ID/>\n</Note>\n"):
        document = "<Invoice>" + "\n" * (above - 1) + element + "</Invoice>"
        print(f"in line {above}: {element!r}: line {etree.fromstring(document)[0].sourceline}")
schema = etree.XMLSchema(etree.fromstring(
    '<schema xmlns="http://www.w3.org/2001/XMLSchema"><element name="Invoice"><complexType><sequence>'
    '<element name="ID"/></sequence></complexType></element></schema>'
))
schema.validate(etree.fromstring("<Invoice>" + "\n" * 69_999 + "<Note/>\n\n\n</Invoice>"))
print("a schema's error in line 70000: line", schema.error_log[-1].line)
END
}

expect lines <<'END'
in line 60000: '<Note>1</Note>\n': line 60000
in line 60000: '<Note/>\n': line 60000
in line 60000: '<Note/>\n\n\n': line 60000
in line 60000: '<Note>\n<ID/>\n</Note>\n': line 60000
in line 70000: '<Note>1</Note>\n': line 70000
in line 70000: '<Note/>\n': line 70001
in line 70000: '<Note/>\n\n\n': line 70003
in line 70000: '<Note>\n<ID/>\n</Note>\n': line 70001
a schema's error in line 70000: line 70003
END
