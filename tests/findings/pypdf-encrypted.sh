#!/usr/bin/env bash
# pypdf 7.1.1: `is_encrypted` is true of a PDF that anybody can open, and whose attachments it reads.
#
# Programs that forbid printing or copying encrypt a PDF with an empty password for its readers. pypdf tries that one by
# itself. Only an attempt to read tells whether a password is missing.
. "$(dirname "$0")/shared.sh"
python pypdf==7.1.1 typing_extensions==4.16.0

read_encrypted() {
    python3 - <<'END'
import io
from pypdf import PdfReader, PdfWriter
from pypdf.errors import FileNotDecryptedError

for password in ("", "secret"):
    pdf, file = PdfWriter(), io.BytesIO()
    pdf.add_blank_page(100, 100)
    pdf.add_attachment("factur-x.xml", b"<Invoice/>")
    pdf.encrypt(user_password=password, owner_password="owner", algorithm="RC4-128")
    pdf.write(file)
    reader = PdfReader(file)
    try:
        answer = dict(reader.attachments)
    except FileNotDecryptedError as error:
        answer = f"{type(error).__name__}"
    print(f"password {password!r}: is_encrypted {reader.is_encrypted}, attachments: {answer}")
END
}

expect read_encrypted <<'END'
password '': is_encrypted True, attachments: {'factur-x.xml': [b'<Invoice/>']}
password 'secret': is_encrypted True, attachments: FileNotDecryptedError
END
