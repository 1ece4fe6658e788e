#!/usr/bin/env bash
# pypdf 7.1.1: without cryptography, a PDF that anybody can open raises DependencyError, which is no PyPdfError.
#
# Programs that forbid printing or copying encrypt a PDF with an empty password for its readers. pypdf decrypts RC4 by
# itself, and AES only if cryptography is installed. A program that catches PyPdfError ends with this error.
. "$(dirname "$0")/shared.sh"
python cryptography==50.0.2 cffi==2.1.1 pycparser==3.12
mv python cryptography
python pypdf==7.1.1 typing_extensions==4.16.0

PYTHONPATH+=:$FOLDER/cryptography python3 - <<'END'
from pypdf import PdfWriter

for algorithm in ("RC4-128", "AES-128", "AES-256"):
    pdf = PdfWriter()
    pdf.add_blank_page(100, 100)
    pdf.add_attachment("factur-x.xml", b"<Invoice/>")
    pdf.encrypt(user_password="", owner_password="owner", algorithm=algorithm)
    pdf.write(f"{algorithm}.pdf")
END

read_encrypted() { # -S: without the system's packages
    python3 -S - <<'END'
from pypdf import PdfReader
from pypdf.errors import PyPdfError

for algorithm in ("RC4-128", "AES-128", "AES-256"):
    try:
        answer = dict(PdfReader(f"{algorithm}.pdf").attachments)
    except Exception as error:
        answer = f"{type(error).__name__}, a PyPdfError: {isinstance(error, PyPdfError)}"
    print(f"{algorithm}: {answer}")
END
}

expect read_encrypted <<'END'
RC4-128: {'factur-x.xml': [b'<Invoice/>']}
AES-128: DependencyError, a PyPdfError: False
AES-256: DependencyError, a PyPdfError: False
END
