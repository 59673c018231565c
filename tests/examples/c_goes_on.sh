#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# c_goes_on.sh PROGRAM FOLDER   conductivity.c, stopped on its way forward and back, ends with the bits of one that was not,
# and another key, or another number of states, is another run.
set -eu
program=$1
rm -rf "$2"
mkdir "$2"
cd "$2"
"$program" > undisturbed.txt
for calls in 700 2500; do
  status=0
  "$program" "run$calls" "$calls" > stopped.txt 2> said.txt || status=$?
  [ "$status" = 3 ] || { echo "after $calls calls it was not stopped but ended with $status"; cat said.txt; exit 1; }
  "$program" "run$calls" > goes_on.txt 2> said.txt
  cmp undisturbed.txt goes_on.txt
done
grep -q "began with 1[0-9]* steps left" said.txt || { echo "it did not go on:"; cat said.txt; exit 1; }
"$program" run2500 > finished.txt 2> said.txt
cmp undisturbed.txt finished.txt
grep -q "began with 0 steps left" said.txt || { echo "it ran again:"; cat said.txt; exit 1; }
