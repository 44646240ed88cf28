/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* External commands: a folder goes in, a file comes out. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "folder.h"
#include "inputs.h"
#include "internal.h"
#include "processes.h"
#include "watcher.h"

struct subject_command {
  size_t count;
  char **words; /* room for one more and a NULL */
  int shell, persistent;
  unsigned flags;
  subject_child child; /* of a persistent command */
};

/* ---- the command ---- */

attest_status subject_command_new(subject_command **command, char *const words[], int shell,
                                  int persistent, unsigned flags, attest_error *error) {
  static const char line_end[] = " \"$@\"";
  size_t given = 0, lead = shell ? 3 : 0;
  *command = NULL;
  while (words[given])
    given++;
  if (!words[0][strspn(words[0], " \t\n")])
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "exec is empty: a command is wanted, as in 'python3 kernel.py'");
  subject_command *c = calloc(1, sizeof *c);
  if (c) c->words = calloc(given + lead + 2, sizeof *c->words);
  int complete = c && c->words;
  if (complete) *c = (subject_command){0, c->words, shell, persistent, flags, {0}};
  if (complete && shell) {
    /* sh -c 'CMD "$@"' sh FOLDER. The end of CMD's line, as of a block in YAML, would make the
     * folder a command of its own. */
    size_t length = strlen(words[0]);
    while (length && words[0][length - 1] == '\n')
      length--;
    char *line = malloc(length + sizeof line_end);
    if (line) sprintf(line, "%.*s%s", (int)length, words[0], line_end);
    c->words[0] = strdup("sh");
    c->words[1] = strdup("-c");
    c->words[2] = line;
    c->words[3] = strdup("sh");
    c->count = 4;
  }
  for (size_t i = 0; i < given && complete && !shell; i++)
    c->words[c->count++] = strdup(words[i]);
  for (size_t i = 0; complete && i < c->count; i++)
    complete = c->words[i] != NULL;
  *command = complete ? c : NULL;
  if (complete) return ATTEST_OK;
  subject_command_free(c);
  return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
}

void subject_command_free(subject_command *command) {
  if (!command) return;
  child_end(&command->child);
  for (size_t i = 0; command->words && i < command->count; i++)
    free(command->words[i]);
  free(command->words);
  free(command);
}

/* ---- what comes back ---- */

/* The tensor of an output in a file: under its own name with either dash; one that is alone in
 * `out.safetensors` is out, one in an npy file what the file is called. */
static const attest_tensor *find_output(const tensor_file *file, int output, int together) {
  char other[64];
  if (!together) return tensor_file_tensor(file, 0);
  const attest_tensor *tensor = tensor_file_find(file, problem_output_names[output]);
  if (tensor) return tensor;
  snprintf(other, sizeof other, "%s", problem_output_names[output]);
  for (char *c = other; *c; c++)
    if (*c == '-') *c = '_';
  tensor = tensor_file_find(file, other);
  if (!tensor && output == OUTPUT_OUT && tensor_file_count(file) == 1)
    return tensor_file_tensor(file, 0);
  return tensor;
}

static int is_there(const char *folder, const char *name, const char *suffix) {
  char path[FOLDER_PATH + 64];
  struct stat info;
  folder_file(path, folder, name, suffix);
  return lstat(path, &info) == 0;
}

static int is_together(const char *folder) {
  return is_there(folder, "out", ".safetensors");
}

/* Two files may differ, and nobody says which of them counts. */
static int is_twice(subject_result *result, const char *folder) {
  for (int i = 0; i < OUTPUT_COUNT; i++) {
    if (!is_there(folder, problem_output_names[i], ".npy")) continue;
    subject_fail(result, "two-outputs",
                 "it wrote %s.npy and out.safetensors: one of them is wanted",
                 problem_output_names[i]);
    return 1;
  }
  return 0;
}

/* Opens what the command wrote: 0, or -1 and the result says why not. Without `result` nothing is
 * kept. */
static int read_outputs(subject_result *result, const char *folder, unsigned wanted,
                        unsigned flags) {
  char path[FOLDER_PATH + 64];
  struct stat info;
  int together = is_together(folder);
  if (together && is_twice(result, folder)) return -1;
  folder_file(path, folder, "out", ".safetensors");
  for (int i = 0; i < OUTPUT_COUNT; i++) {
    attest_error error = {0};
    if (!together) folder_file(path, folder, problem_output_names[i], ".npy");
    const char *file_name = strrchr(path, '/') + 1;
    if (lstat(path, &info) == 0) {
      attest_status status = tensor_file_open(&result->files[i], path, flags, &error);
      if (status) {
        const char *message = strstr(error.message, file_name);
        subject_fail(result, "garbage", "%s", message ? message : error.message);
        return -1;
      }
      const attest_tensor *tensor = find_output(result->files[i], i, together);
      if (tensor) result->output[i] = *tensor;
    }
    if (!result->output[i].data && wanted & 1u << i) {
      subject_fail(result, "no-output", "it wrote no %s%s%s",
                   together ? problem_output_names[i] : "", together ? " into " : "",
                   together ? file_name : "out.npy or out.safetensors");
      if (!together && i != OUTPUT_OUT)
        subject_fail(result, "no-output", "it wrote no %s, and no out.safetensors", file_name);
      return -1;
    }
  }
  return 0;
}

/* Whether an output has as many elements as it should: others are refuted by their shape. */
static int is_of_size(const attest_tensor *t, const attest_problem *problem, int output) {
  int ndim;
  int64_t shape[ATTEST_MAX_DIMS];
  if (!t->data || (output == OUTPUT_FINAL_STATE && problem->state_rows <= 0)) return 0;
  problem_output_shape(&ndim, shape, problem, output);
  attest_tensor wanted = attest_tensor_of(NULL, t->dtype, ndim, shape);
  return tensor_elements(t) == tensor_elements(&wanted);
}

/* A command that goes on could still change its files: copies take their place. */
static attest_status keep_copies(subject_result *result, const attest_problem *problem,
                                 attest_error *error) {
  size_t bytes = 0;
  int copied[OUTPUT_COUNT];
  char *at;
  for (int i = 0; i < OUTPUT_COUNT; i++)
    if ((copied[i] = is_of_size(&result->output[i], problem, i)))
      bytes += subject_copy_size(&result->output[i]);
  attest_status status = subject_copies(&at, &result->outputs, bytes, error);
  for (int i = 0; i < OUTPUT_COUNT && !status; i++)
    if (copied[i]) result->output[i] = subject_copy(&at, &result->output[i]);
  return status;
}

typedef struct {
  subject_result *result;
  const subject_command *command;
  const char *folder;
  const attest_problem *problem;
  unsigned wanted;
  attest_status status;
  attest_error *error;
} taking;

static void take(void *context) {
  taking *t = context;
  if (!read_outputs(t->result, t->folder, t->wanted, t->command->flags) && t->command->persistent)
    t->status = keep_copies(t->result, t->problem, t->error);
}

/* What the command wrote, where it did its work; one that goes on may still cut it short. */
static attest_status take_outputs(taking *t) {
  if (tensor_guarded(take, t))
    subject_fail(t->result, "garbage", "its output was cut short while it was read");
  return t->status;
}

/* ---- commands that go on ---- */

typedef struct {
  const char *folder;
  pid_t process;
  unsigned wanted, flags;
  struct timespec changed; /* of the file that is whole */
  int looks;               /* since it last changed */
} silence;

/* Half a second without a change of a file that is whole. */
enum { LOOKS_OF_SILENCE = 500 / CHILD_LOOK_MILLISECONDS };

typedef struct {
  const silence *s;
  int is_whole;
} look;

static void look_at_outputs(void *context) {
  look *l = context;
  subject_result trial = {0};
  l->is_whole = !read_outputs(&trial, l->s->folder, l->s->wanted, l->s->flags);
  subject_clear(&trial);
}

/* Not every command answers. One that does not is done with a folder when its output is whole, no
 * longer changes and it waits for the next line: without the last, an output that it would still
 * replace, or a status that it would still give, could be missed. */
static int has_settled(silence *s) {
  char path[FOLDER_PATH + 64];
  struct stat info;
  look l = {s, 0};
  folder_file(path, s->folder, "out", ".safetensors");
  if (stat(path, &info)) folder_file(path, s->folder, "out", ".npy");
  int whole = !stat(path, &info) && !tensor_guarded(look_at_outputs, &l) && l.is_whole;
  int same = whole && s->changed.tv_sec == info.st_mtim.tv_sec &&
             s->changed.tv_nsec == info.st_mtim.tv_nsec;
  s->looks = same ? s->looks + 1 : 0;
  if (whole) s->changed = info.st_mtim;
  return s->looks >= LOOKS_OF_SILENCE && processes_await_input(s->process);
}

static int is_answer(int *status, void *context, const char *line) {
  char *end;
  if (!line) {
    *status = 0;
    return has_settled(context);
  }
  while (isspace((unsigned char)*line))
    line++;
  if (!isdigit((unsigned char)*line)) return 0;
  long value = strtol(line, &end, 10);
  while (isspace((unsigned char)*end))
    end++;
  if (*end || value > 255) return 0;
  *status = (int)(value << 8); /* as waitpid has it */
  return 1;
}

static int send_line(int descriptor, const char *text) {
  /* A subject that has gone must not take this process with it. */
  struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
  char line[FOLDER_PATH + 2];
  int length = snprintf(line, sizeof line, "%s\n", text);
  sigaction(SIGPIPE, &ignore, &before);
  ssize_t written = write(descriptor, line, (size_t)length);
  sigaction(SIGPIPE, &before, NULL);
  return written == length ? 0 : -1;
}

static attest_status run_persistent(child_event *event, subject_command *command,
                                    const char *folder, unsigned wanted,
                                    const subject_limits *limits, attest_error *error) {
  subject_child *child = &command->child;
  silence context = {.folder = folder, .wanted = wanted, .flags = command->flags};
  child_answer answer = {is_answer, &context};
  if (!child->pid) {
    attest_status status = child_start(child, command->words, -1, 1, error);
    if (status) return status;
  }
  context.process = child->pid;
  child->tail_length = child->line_length = 0;
  /* Where the line cannot be sent the process has ended: the wait says how. */
  send_line(child->in, folder);
  *event = child_wait(child, limits, &answer);
  return ATTEST_OK;
}

/* ---- one problem ---- */

static attest_status run_once(child_event *event, subject_child *child,
                              const subject_command *command, const char *folder,
                              const subject_limits *limits, attest_error *error) {
  command->words[command->count] = (char *)folder;
  attest_status status = child_start(child, command->words, -1, 0, error);
  command->words[command->count] = NULL;
  if (!status) *event = child_wait(child, limits, NULL);
  return status;
}

/* The shell's own complaint about a command that is not there is no verdict on a kernel. */
static int is_no_command(const subject_command *command, child_event event,
                         const subject_child *child) {
  int code = WIFEXITED(child->status) ? WEXITSTATUS(child->status) : 0;
  return command->shell && event == CHILD_EXITED && (code == 126 || code == 127);
}

static uint64_t output_bytes(const attest_problem *problem) {
  uint64_t bytes = 4096;
  for (int i = 0; i < OUTPUT_COUNT; i++) {
    int ndim;
    int64_t shape[ATTEST_MAX_DIMS];
    if ((i == OUTPUT_INDICES && !problem_kernel_returns(problem->kernel, i)) ||
        (i == OUTPUT_FINAL_STATE && problem->state_rows <= 0))
      continue;
    problem_output_shape(&ndim, shape, problem, i);
    attest_tensor t = attest_tensor_of(NULL, ATTEST_INT64, ndim, shape);
    bytes += (uint64_t)tensor_elements(&t) * (i == OUTPUT_INDICES ? 8 : 4);
  }
  return bytes;
}

static attest_status work_in(subject_result *result, subject_command *command, const char *folder,
                             const attest_problem *problem, const subject_inputs *inputs,
                             unsigned wanted, const subject_limits *limits, attest_error *error) {
  subject_child once = {.in = -1, .out = -1, .err = -1};
  subject_child *child = command->persistent ? &command->child : &once;
  child_event event = CHILD_EXITED;
  attest_status status = folder_fill(folder, problem, error);
  if (status) return status;
  status = command->persistent ? run_persistent(&event, command, folder, wanted, limits, error)
                               : run_once(&event, &once, command, folder, limits, error);
  if (status) return status;
  subject_keep_printed(result, child);
  if (event == CHILD_INTERRUPTED)
    return attest_fail(error, ATTEST_ERR_INTERRUPT, "interrupted while the subject ran");
  if (is_no_command(command, event, child))
    return attest_fail(error, ATTEST_ERR_IO, "the command cannot be run: %.300s", result->printed);
  int failed = subject_judge(result, event, child, limits, command->shell);
  if (!failed && command->persistent && event == CHILD_EXITED) {
    subject_fail(result, "ended", "it ended instead of answering");
    failed = 1;
  }
  if (!failed) {
    taking t = {result, command, folder, problem, wanted, ATTEST_OK, error};
    status = take_outputs(&t);
  }
  if (!status) status = inputs_inspect(result, inputs, problem, folder, error);
  if (status) return status;
  if (result->outcome == SUBJECT_FAILED && folder_is_full(folder, output_bytes(problem)))
    return attest_fail(error, ATTEST_ERR_IO,
                       "%s has no room for what the subject returns (and %s): free some, or name "
                       "another folder in TMPDIR",
                       folder, result->detail);
  return ATTEST_OK;
}

attest_status subject_exec(subject_result *result, subject_command *command,
                           attest_problem *problem, unsigned wanted, const subject_limits *limits,
                           attest_error *error) {
  char folder[FOLDER_PATH];
  subject_inputs inputs;
  memset(result, 0, sizeof *result);
  attest_status status = watcher_start(error);
  if (!status) status = folder_make(folder, error);
  if (status) return status;
  watcher_note(WATCH_FOLDER, 0, folder);
  status = inputs_keep(&inputs, result, problem, error);
  if (!status) status = work_in(result, command, folder, problem, &inputs, wanted, limits, error);
  folder_remove(folder); /* files that are mapped stay readable */
  watcher_note(FORGET_FOLDER, 0, folder);
  if (status) inputs_put_back(problem, &inputs);
  if (status) subject_clear(result);
  return status;
}
