#!/usr/bin/env bash
# watchdog 7.1.0: the first exception in a handler ends the observer for all folders, while the watches go on.
#
# The observer's thread ends; its emitters stay alive and fill a queue that nobody reads any more.
. "$(dirname "$0")/shared.sh"
python watchdog==7.1.0

watch() {
    mkdir a b
    python3 - <<'END' 2>/dev/null
import time
from watchdog.events import FileSystemEventHandler
from watchdog.observers import Observer

class Failing(FileSystemEventHandler):
    def on_created(self, event):
        raise ValueError

class Recorder(FileSystemEventHandler):
    seen = 0

    def on_created(self, event):
        self.seen += 1

recorder, observer = Recorder(), Observer()
observer.schedule(Failing(), "a")
observer.schedule(recorder, "b")
observer.start()
open("a/1.xml", "w").close()
observer.join(20)
open("b/1.xml", "w").close()
until = time.monotonic() + 20
while not observer.event_queue.qsize() and time.monotonic() < until:
    time.sleep(0.05)
print("observer alive:", observer.is_alive())
print("emitters alive:", [emitter.is_alive() for emitter in observer.emitters])
print("events of the other folder:", recorder.seen, "handled; some are waiting:", observer.event_queue.qsize() > 0)
END
}

expect watch <<'END'
observer alive: False
emitters alive: [True, True]
events of the other folder: 0 handled; some are waiting: True
END
