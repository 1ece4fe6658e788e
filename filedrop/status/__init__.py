"""What `status`, status.json and the page show.

kinds         the kinds of what needs attention: their words, and how long an alert waits
model         the form of it
survey        everything together, and the command that starts filedrop where it doesn't run
recorded      what the journal knows of it
folders       what lies in each folder; it only looks
reasons       why a count isn't 0, what is to be done, and the documents and messages that it is made of
rejections    what receivers and French platforms have rejected
repeated      received documents that may be duplicates
silence       answers that are owed for too long
strays        files that nobody will send, also in folders that have no company any more
matters       what needs attention
daemon_file   daemon.json in `state`: what only the daemon knows, for the commands of its own user
status_file   status.json, for users of the share who may not read `state`
page_file     STATUS.html in the root and in the companies' folders: when, and where
company       a company's part of the status, in the words of its people
page          its content; lately is what happened in the last two weeks; templates has the HTML
"""
