#!/usr/bin/env bash
# python-stdnum 2.2: a number is valid in more forms than a ParticipantID of its scheme may have.
#
# `validate` and `is_valid` read a number as people write it: with blanks, full-width digits, or a country before it.
# An EAN may have 8, 12 or 14 digits, of which a GLN (0088) has 13. Only what `validate` returns is the plain number.
# With eu.vat it is the other way round: without its country, no number is valid.
. "$(dirname "$0")/shared.sh"
python python-stdnum==2.2

validate() {
    python3 - <<'END'
from stdnum import ean
from stdnum.be import vat as be_vat
from stdnum.eu import vat as eu_vat
from stdnum.no import orgnr

for scheme, module, numbers in (
    ("0192", orgnr, ("988077917", "988 077 917", "９８８０７７９１７")),
    ("0208", be_vat, ("0403170701", "403170701", "BE 0403.170.701")),
    ("0088", ean, ("7300010000001", "96385074", "036000291452", "10614141000415")),
    ("9933", eu_vat, ("094259216", "EL094259216", "GR094259216")),
):
    for number in numbers:
        try:
            print(scheme, f"{number}: valid, plain {module.validate(number)}")
        except ValueError as error:
            print(scheme, f"{number}: {type(error).__name__}")
END
}

expect validate <<'END'
0192 988077917: valid, plain 988077917
0192 988 077 917: valid, plain 988077917
0192 ９８８０７７９１７: valid, plain 988077917
0208 0403170701: valid, plain 0403170701
0208 403170701: valid, plain 0403170701
0208 BE 0403.170.701: valid, plain 0403170701
0088 7300010000001: valid, plain 7300010000001
0088 96385074: valid, plain 96385074
0088 036000291452: valid, plain 036000291452
0088 10614141000415: valid, plain 10614141000415
9933 094259216: InvalidComponent
9933 EL094259216: valid, plain EL094259216
9933 GR094259216: valid, plain GR094259216
END
