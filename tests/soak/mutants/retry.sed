# lib/record/op.c
# A write is tried again that may have been sent.
s/{"file.write", CONTROL, false, false, true, true, false, false}/{"file.write", CONTROL, false, false, true, true, true, false}/
