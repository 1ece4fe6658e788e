"""Processes of our own that do what a stranger's document might ruin: each has limits of memory, time and output.

child = Child("filedrop.validation.child", memory=1_000_000_000, largest=1_000_000)
child.ask({...}, pieces, seconds=30)           its answer; a question is a few facts and a document

A child is started with the first question and stays for the next one. It is killed when it is late, ends when it is
idle, and ends with filedrop.

asking      the side that asks: `Child`
answering   the child's side: a loop that reads questions and writes answers
limits      the limit of memory: by the child itself on Linux, by a job object on Windows
"""

from filedrop.children.asking import Child, Ended, Late, NoAnswer

__all__ = ["Child", "Ended", "Late", "NoAnswer"]
