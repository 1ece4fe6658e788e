#!/usr/bin/env bash
# sshfs 3.7.3: a file that another computer is writing seems unchanged for 20 seconds, and is read up to its old size.
#
# Sizes and times are cached as well as listings (dcache_stat_timeout). So a program that waits until a file hasn't
# changed for ten seconds takes half of it, without an error. Opening it asks nobody; only after the reader met the end,
# fstat has the present size and time. That shows also that a file was overwritten with as many bytes.
. "$(dirname "$0")/shared.sh"
fuse
debian sshfs=3.7.3-1.2~deb12u1 openssh-sftp-server=1:9.2p1-2+deb12u10 libfuse3-3=3.14.0-4

mkdir server
echo '<Invoice>' | tee server/1.xml >server/2.xml
mount_sshfs default
mount_sshfs short dcache_stat_timeout=1

grow() {
    python3 - <<'END'
import os, time

os.stat("default/1.xml"), os.stat("short/1.xml")
with open("server/1.xml", "a") as file:
    for _ in range(3):
        file.write("<Line/>\n")
        file.flush()
        time.sleep(1.5)
print("on the server:", os.stat("server/1.xml").st_size)
print("stat, with dcache_stat_timeout=1:", os.stat("short/1.xml").st_size)
print("stat, by default:", os.stat("default/1.xml").st_size)
with open("default/1.xml", "rb") as file:
    print("fstat after open:", os.fstat(file.fileno()).st_size)
    print("read:", len(file.read()))
    print("fstat after reading:", os.fstat(file.fileno()).st_size)

before = os.stat("default/2.xml").st_mtime
with open("server/2.xml", "r+") as file:
    file.write("<Invoice>")
os.utime("server/2.xml", (2e9, 2e9))
print("overwritten: stat has the former time:", os.stat("default/2.xml").st_mtime == before)
with open("default/2.xml", "rb") as file:
    print("fstat after open has it:", os.fstat(file.fileno()).st_mtime == before)
    file.read()
    print("fstat after reading has the present time:", os.fstat(file.fileno()).st_mtime == 2e9)
END
}

expect grow <<'END'
on the server: 34
stat, with dcache_stat_timeout=1: 34
stat, by default: 10
fstat after open: 10
read: 10
fstat after reading: 34
overwritten: stat has the former time: True
fstat after open has it: True
fstat after reading has the present time: True
END
