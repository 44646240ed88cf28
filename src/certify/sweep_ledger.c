/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Finished blocks in an SQLite file: a table of what the sweep is, a table of records. The file is
 * locked as long as it is open, so that two runs never share one. */
#include <sqlite3.h>

#include "sweep_engine.h"

struct sweep_ledger {
  sqlite3 *db;
  sqlite3_stmt *insert;
  char *path;
  int in_transaction;
};

static attest_status fail(const sweep_ledger *l, attest_error *error) {
  int code = sqlite3_errcode(l->db) & 255;
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
    return attest_fail(error, ATTEST_ERR_IO,
                       "%s: another run is using this ledger; wait for it, or name another file",
                       l->path);
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
    return attest_fail(error, ATTEST_ERR_INPUT, "%s: no ledger of a sweep (%s)", l->path,
                       sqlite3_errmsg(l->db));
  if (code == SQLITE_CANTOPEN)
    return attest_fail(error, ATTEST_ERR_IO,
                       "%s: this ledger cannot be opened: %s; name one in a folder that is there, "
                       "with --merge one that --resume has made",
                       l->path, strerror(sqlite3_system_errno(l->db)));
  return attest_fail(error, ATTEST_ERR_IO, "%s: %s", l->path, sqlite3_errmsg(l->db));
}

static attest_status execute(sweep_ledger *l, const char *sql, attest_error *error) {
  return sqlite3_exec(l->db, sql, NULL, NULL, NULL) == SQLITE_OK ? ATTEST_OK : fail(l, error);
}

/* ---- identity -------------------------------------------------------------------------------- */

/* The text that the file was made with, "" in a new one; free(). */
static attest_status stored_identity(char **text, sweep_ledger *l, attest_error *error) {
  sqlite3_stmt *s;
  *text = NULL;
  if (sqlite3_prepare_v2(l->db, "SELECT identity FROM sweep", -1, &s, NULL) != SQLITE_OK)
    return fail(l, error);
  int code = sqlite3_step(s);
  const char *found = code == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : "";
  *text = strdup(found ? found : "");
  sqlite3_finalize(s);
  if (code != SQLITE_ROW && code != SQLITE_DONE) return fail(l, error);
  return *text ? ATTEST_OK : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
}

/* Line by line; the first that differs is named. */
static attest_status compare_identity(const sweep_ledger *l, const char *stored, const char *wanted,
                                      int any_shard, attest_error *error) {
  while (*stored || *wanted) {
    size_t a = strcspn(stored, "\n"), b = strcspn(wanted, "\n");
    int same = a == b && !strncmp(stored, wanted, a);
    if (!same && !(any_shard && !strncmp(stored, "shard=", 6) && !strncmp(wanted, "shard=", 6)))
      return attest_fail(error, ATTEST_ERR_INPUT,
                         "%s is the ledger of another sweep: it has %.*s, this one %.*s", l->path,
                         (int)a, stored, (int)b, wanted);
    stored += a + (stored[a] == '\n');
    wanted += b + (wanted[b] == '\n');
  }
  return ATTEST_OK;
}

static attest_status set_identity(sweep_ledger *l, const char *identity, attest_error *error) {
  sqlite3_stmt *s;
  if (sqlite3_prepare_v2(l->db, "INSERT INTO sweep VALUES (?)", -1, &s, NULL) != SQLITE_OK)
    return fail(l, error);
  sqlite3_bind_text(s, 1, identity, -1, SQLITE_STATIC);
  int code = sqlite3_step(s);
  sqlite3_finalize(s);
  return code == SQLITE_DONE ? ATTEST_OK : fail(l, error);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* A database of something else is left as it is. */
static attest_status refuse_others(sweep_ledger *l, attest_error *error) {
  static const char query[] = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name "
                              "NOT IN ('sweep', 'block')";
  sqlite3_stmt *s;
  if (sqlite3_prepare_v2(l->db, query, -1, &s, NULL) != SQLITE_OK) return fail(l, error);
  int code = sqlite3_step(s);
  int others = code == SQLITE_ROW ? sqlite3_column_int(s, 0) : 0;
  sqlite3_finalize(s);
  if (code != SQLITE_ROW) return fail(l, error);
  return others ? attest_fail(error, ATTEST_ERR_INPUT, "%s: no ledger of a sweep", l->path)
                : ATTEST_OK;
}

/* The lock is taken by the first transaction and, being exclusive, kept. */
static attest_status prepare(sweep_ledger *l, const char *identity, int read_only,
                             attest_error *error) {
  static const char tables[] = "CREATE TABLE IF NOT EXISTS sweep (identity TEXT NOT NULL);"
                               "CREATE TABLE IF NOT EXISTS block (first INTEGER PRIMARY KEY, "
                               "record BLOB NOT NULL);";
  char *stored = NULL;
  attest_status status = ATTEST_OK;
  if (!read_only)
    status = execute(l,
                     "PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = NORMAL;"
                     "BEGIN EXCLUSIVE;",
                     error);
  if (!status) status = refuse_others(l, error);
  if (!status && !read_only) status = execute(l, tables, error);
  if (!status) status = stored_identity(&stored, l, error);
  if (!status && *stored) status = compare_identity(l, stored, identity, read_only, error);
  if (!status && !*stored && !read_only) status = set_identity(l, identity, error);
  if (!status && !*stored && read_only)
    status = attest_fail(error, ATTEST_ERR_INPUT, "%s: no ledger of a sweep", l->path);
  free(stored);
  if (read_only) return status;
  if (!status) status = execute(l, "COMMIT", error);
  if (!status && sqlite3_prepare_v2(l->db, "INSERT OR REPLACE INTO block VALUES (?, ?)", -1,
                                    &l->insert, NULL) != SQLITE_OK)
    status = fail(l, error);
  return status;
}

attest_status sweep_ledger_open(sweep_ledger **ledger, const char *path, const char *identity,
                                int read_only, attest_error *error) {
  int flags = read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sweep_ledger *l = *ledger = calloc(1, sizeof *l);
  char *name = NULL; /* to SQLite "" and ":memory:" are no files */
  if (!l || asprintf(&name, "%s%s", *path == '/' ? "" : "./", path) < 0 ||
      !(l->path = strdup(path))) {
    free(name);
    free(l);
    *ledger = NULL;
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  }
  attest_status status =
      sqlite3_open_v2(name, &l->db, flags | SQLITE_OPEN_NOMUTEX, NULL) ? fail(l, error) : ATTEST_OK;
  free(name);
  if (!status) status = prepare(l, identity, read_only, error);
  if (status) {
    sweep_ledger_close(l);
    *ledger = NULL;
  }
  return status;
}

void sweep_ledger_close(sweep_ledger *l) {
  if (!l) return;
  sqlite3_finalize(l->insert);
  sqlite3_close(l->db);
  free(l->path);
  free(l);
}

/* ---- records --------------------------------------------------------------------------------- */

attest_status sweep_ledger_read(sweep_ledger *l,
                                attest_status (*take)(void *context, const sweep_record *r,
                                                      attest_error *error),
                                void *context, attest_error *error) {
  sqlite3_stmt *s;
  attest_status status = ATTEST_OK;
  int code;
  if (sqlite3_prepare_v2(l->db, "SELECT first, record FROM block ORDER BY first", -1, &s, NULL) !=
      SQLITE_OK)
    return fail(l, error);
  while (!status && (code = sqlite3_step(s)) != SQLITE_DONE) {
    sweep_record r;
    if (code != SQLITE_ROW) {
      status = fail(l, error);
    } else if (sweep_record_read(&r, sqlite3_column_blob(s, 1),
                                 (size_t)sqlite3_column_bytes(s, 1)) ||
               (uint64_t)sqlite3_column_int64(s, 0) != r.first) {
      status = attest_fail(error, ATTEST_ERR_INPUT,
                           "%s: a damaged record: sweep again, into another file", l->path);
    } else {
      status = take(context, &r, error);
    }
  }
  sqlite3_finalize(s);
  return status;
}

attest_status sweep_ledger_add(sweep_ledger *l, const sweep_record *r, attest_error *error) {
  unsigned char bytes[SWEEP_RECORD_BYTES];
  size_t size = sweep_record_write(bytes, r);
  if (!l->in_transaction) {
    attest_status status = execute(l, "BEGIN", error);
    if (status) return status;
    l->in_transaction = 1;
  }
  sqlite3_bind_int64(l->insert, 1, (sqlite3_int64)r->first);
  sqlite3_bind_blob(l->insert, 2, bytes, (int)size, SQLITE_TRANSIENT);
  int code = sqlite3_step(l->insert);
  sqlite3_reset(l->insert);
  return code == SQLITE_DONE ? ATTEST_OK : fail(l, error);
}

attest_status sweep_ledger_commit(sweep_ledger *l, attest_error *error) {
  if (!l->in_transaction) return ATTEST_OK;
  l->in_transaction = 0;
  return execute(l, "COMMIT", error);
}
