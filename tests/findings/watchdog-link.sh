#!/usr/bin/env bash
# watchdog 7.1.0 (inotify): a folder that is named by a symbolic link is watched without an error and without an event.
#
# `follow_symlink=True` cures it. A link further up in the path doesn't matter.
. "$(dirname "$0")/shared.sh"
python watchdog==7.1.0

watch() {
    mkdir -p real/outbound
    ln -s real/outbound link-to-folder
    ln -s real link-above
    for follow_symlink in False True; do events $follow_symlink; done
}

events() {
    rm -f real/outbound/1.xml
    python3 - "$1" <<'END'
import sys, time
from watchdog.events import FileSystemEventHandler
from watchdog.observers import Observer

class Recorder(FileSystemEventHandler):
    def __init__(self):
        self.seen = []

    def on_created(self, event):
        self.seen.append(event.src_path)

recorders = {path: Recorder() for path in ("link-to-folder", "link-above/outbound", "real/outbound")}
observer = Observer()
for path, recorder in recorders.items():
    observer.schedule(recorder, path, follow_symlink=sys.argv[1] == "True")
observer.start()
open("real/outbound/1.xml", "w").close()
until = time.monotonic() + 20
while not recorders["real/outbound"].seen and time.monotonic() < until:
    time.sleep(0.05)
time.sleep(1)
observer.stop()
for path, recorder in recorders.items():
    print(f"follow_symlink={sys.argv[1]}: {path}: {recorder.seen}")
END
}

expect watch <<'END'
follow_symlink=False: link-to-folder: []
follow_symlink=False: link-above/outbound: ['link-above/outbound/1.xml']
follow_symlink=False: real/outbound: ['real/outbound/1.xml']
follow_symlink=True: link-to-folder: ['link-to-folder/1.xml']
follow_symlink=True: link-above/outbound: ['link-above/outbound/1.xml']
follow_symlink=True: real/outbound: ['real/outbound/1.xml']
END
