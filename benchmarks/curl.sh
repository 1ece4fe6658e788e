#!/bin/sh
# The shell script that many begin with: curl.sh URL FOLDER SENDER RECEIVER DOCUMENT_ID PROCESS_ID
# It posts each file that is closed in or moved into FOLDER, one process a file, and moves it to FOLDER/sent.
url=$1 sender=$3 receiver=$4 document=$5 process=$6
cd "$2" || exit 1
inotifywait -m -q -e close_write -e moved_to --format %f . | while read -r file; do
    curl -sf -o /dev/null -u bench:secret \
        -F "SenderID=$sender" -F "RecipientID=$receiver" -F ChannelID= -F "DocumentID=$document" \
        -F "ProcessID=$process" -F "file=@$file;type=application/xml" "$url/outbox" && mv "$file" sent/
done
