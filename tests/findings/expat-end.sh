#!/usr/bin/env bash
# expat 2.5.0: in the handler for an element's end, the position is the end tag's start, but behind an empty element.
#
# <b></b> and <b/> are the same to the handlers, and the bytes before the position don't tell which it was: text may
# end with "/>". A program that inserts "before the end of b" there writes outside of the empty one. The position in
# the handler for the start helps: an empty element's tag ends where its end is reported.
. "$(dirname "$0")/shared.sh"
debian libexpat1=2.5.0-1+deb12u5

positions() {
    python3 - "$(find "$FOLDER/debian" -name 'libexpat.so.1')" <<'END'
import ctypes
import sys

expat = ctypes.CDLL(sys.argv[1])
expat.XML_ParserCreate.restype = ctypes.c_void_p
expat.XML_GetCurrentByteIndex.restype = ctypes.c_long
starts = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
ends = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)

for text in (b"<a><b></b></a>", b"<a><b/></a>", b"<a><b>/></b></a>"):
    parser = ctypes.c_void_p(expat.XML_ParserCreate(None))
    seen = []

    def note(what, name):
        seen.append(f"{what} of {name.decode()} at {expat.XML_GetCurrentByteIndex(parser)}")

    handlers = starts(lambda _, name, __: note("start", name)), ends(lambda _, name: note("end", name))
    expat.XML_SetElementHandler(parser, *handlers)
    assert expat.XML_Parse(parser, text, len(text), True)
    expat.XML_ParserFree(parser)
    print(text.decode(), *seen[1:-1], sep=", ")
END
}

expect positions <<'END'
<a><b></b></a>, start of b at 3, end of b at 6
<a><b/></a>, start of b at 3, end of b at 7
<a><b>/></b></a>, start of b at 3, end of b at 8
END
