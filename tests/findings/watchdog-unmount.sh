#!/usr/bin/env bash
# watchdog 7.1.0 (inotify): after an unmount, the watch is dead and its emitter says that it is alive.
#
# The kernel ends the watch. A folder that is mounted there again has no events. If the folder is removed instead, the
# emitter ends.
. "$(dirname "$0")/shared.sh"
[ "$(id -u)" = 0 ] || not_tried "mounting needs root"
python watchdog==7.1.0

watch() {
    mkdir mount removed
    mount -t tmpfs tmpfs mount || not_tried "mounting is forbidden here"
    python3 - <<'END'
import os, subprocess, time
from watchdog.events import FileSystemEventHandler
from watchdog.observers import Observer

class Recorder(FileSystemEventHandler):
    seen = 0

    def on_created(self, event):
        self.seen += 1

def emitter_of(watch):
    return next(emitter for emitter in observer.emitters if emitter.watch == watch)

recorder, observer = Recorder(), Observer()
unmounted, removed = observer.schedule(recorder, "mount"), observer.schedule(recorder, "removed")
observer.start()
subprocess.run(["umount", "mount"], check=True)
subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "mount"], check=True)
os.rmdir("removed")
emitter_of(removed).join(20)
open("mount/1.xml", "w").close()
time.sleep(1)
print("removed:   emitter alive:", emitter_of(removed).is_alive())
print("unmounted: emitter alive:", emitter_of(unmounted).is_alive(), "- events:", recorder.seen)
observer.stop()
END
}

expect watch <<'END'
removed:   emitter alive: False
unmounted: emitter alive: True - events: 0
END
