# SPDX-License-Identifier: LGPL-3.0-or-later
# Builds the mutants of mutants.txt into the sources: awk -v out=FOLDER -f mutate.awk mutants.txt
#
# FOLDER/new/src/FILE is src/FILE with every changed place made a choice at run time,
#   (MUTATED(7) ? (wrong) : (right)), or { if (MUTATED(7)) { wrong } else { right } }
# where `right` ends with a semicolon; several mutants may change the same place. FOLDER/list.h has
# a line MUTANT(name, family, role, places found, places wanted) a mutant, in order: a place whose
# text is gone is left out and counted, so that the self-test reports it.
function fail(text) { print "mutants.txt:" FNR ": " text > "/dev/stderr"; bad = 1; exit 1 }

function load(name,    line, n) {
  if (name in lines) return
  n = 0
  while ((getline line < ("src/" name)) > 0) text[name, ++n] = line
  close("src/" name)
  if (n == 0) fail("no file src/" name)
  lines[name] = n
  files[++file_count] = name
}

# The one line of the file, or the first one after the line with `after`, that holds `right` as the
# file stands; 0: none, or several.
function find(name, after, right,    i, found, from) {
  from = 1
  if (after != "") {
    for (i = 1; i <= lines[name] && !index(text[name, i], after); i++);
    from = i
  }
  found = 0
  for (i = from; i <= lines[name]; i++)
    if (index(text[name, i], right)) {
      if (after != "") return i
      if (found) return 0
      found = i
    }
  return found
}

# Several mutants may change the very same text, but no part of another one's.
function check_overlap(line, at,    i, n, other, text) {
  n = split(places[file, line], other, " ")
  for (i = 1; i <= n; i++) {
    text = original[file, line, other[i]]
    if (other[i] == at && text == right) continue
    if (other[i] < at + length(right) && at < other[i] + length(text))
      fail("overlaps the place of another mutant")
  }
}

function change(    line, at, key) {
  if (right == "" || file == "") fail("a place needs file and right")
  load(file)
  wanted[count]++
  line = find(file, after, right)
  if (line) {
    found[count]++
    at = index(text[file, line], right)
    key = file SUBSEP line SUBSEP at
    check_overlap(line, at)
    if (!(key in original)) places[file, line] = places[file, line] " " at
    original[key] = right
    choice[key] = choice[key] (right ~ /;$/ ? "if (MUTATED(" count ")) { " wrong " } else " \
                                            : "MUTATED(" count ") ? (" wrong ") : ")
  }
  right = ""
  after = ""
}

function apply(name, line,    result, at, n, i, k, order, key, held, replacement) {
  result = text[name, line]
  n = split(places[name, line], order, " ")
  for (i = 1; i <= n; i++) # the last place first
    for (k = i + 1; k <= n; k++)
      if (order[k] + 0 > order[i] + 0) { held = order[i]; order[i] = order[k]; order[k] = held }
  for (i = 1; i <= n; i++) {
    at = order[i]
    key = name SUBSEP line SUBSEP at
    right = original[key]
    replacement = right ~ /;$/ ? "{ " choice[key] "{ " right " } }" : "(" choice[key] "(" right "))"
    result = substr(result, 1, at - 1) replacement substr(result, at + length(right))
  }
  return result
}

/^#/ || /^$/ { next }
{
  key = $1
  value = $0
  sub(/^[a-z]+ */, "", value)
}
key == "unit" { next }
key == "mutant" { name_of[++count] = value; file = right = after = ""; next }
key == "family" { family[count] = value; next }
key == "role" { role[count] = value; next }
key == "file" { file = value; next }
key == "after" { after = value; next }
key == "right" { right = value; next }
key == "wrong" { wrong = value; change(); next }
{ fail("what is " key "?") }

END {
  if (bad) exit 1
  for (f = 1; f <= file_count; f++) {
    name = files[f]
    to = out "/new/src/" name
    system("mkdir -p $(dirname " to ")")
    for (i = 1; i <= lines[name]; i++)
      print ((name, i) in places) ? apply(name, i) : text[name, i] > to
    close(to)
  }
  for (m = 1; m <= count; m++)
    printf "MUTANT(\"%s\", \"%s\", \"%s\", %d, %d)\n", name_of[m], family[m], role[m], found[m],
           wanted[m] > (out "/new/list.h")
}
