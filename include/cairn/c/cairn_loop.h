/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of a loop whose step and adjoint are C functions on a state behind a `void *`. For Fortran there is the
 * module `cairn_loop` beside this file, with the same names.
 */
#ifndef CAIRN_LOOP_H
#define CAIRN_LOOP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cairn_status {
  CAIRN_OK = 0,
  CAIRN_BAD_ARGUMENT = 1,   /* refused; before any callback ran, but for a p that has changed */
  CAIRN_NO_MEMORY = 2,      /* also where `create` gave NULL */
  CAIRN_STEP_FAILED = 3,    /* a callback did not return 0, and with that the sweep ended */
  CAIRN_ADJOINT_FAILED = 4,
  CAIRN_SEED_FAILED = 5,
  CAIRN_COPY_FAILED = 6,
  CAIRN_WRONG_ADJOINT = 7,  /* cairn_check only */
  CAIRN_INTERNAL = 8,       /* anything else, such as an exception from a callback written in C++ */
  CAIRN_TERM_FAILED = 9,
  CAIRN_STOPPED = 10,       /* `stop` said so; the folder holds where to go on */
  CAIRN_FILES_FAILED = 11   /* the folder cannot be used, or another process has the run */
};

/* A loop x = step(x, i), i = 0 .. steps-1. What is not named in an initialiser is 0, and that is its default.
 * Callbacks return 0, or anything else to end the sweep. They must come back: no longjmp out of them.
 */
typedef struct cairn_loop {
  int64_t steps;          /* 0 or more */
  int64_t slots;          /* states kept at once in memory, 1 or more; 0: as many as memory_bytes allows */
  uint64_t memory_bytes;  /* for all that a sweep allocates, states in work and the adjoint included; 0: slots says how
                             many. One of the two is given */
  size_t state_bytes;     /* of one state, 1 or more */
  size_t bar_bytes;       /* of its adjoint; 0: as many as state_bytes, which `create` does not allow */

  int (*step)(void *state, int64_t i, void *user); /* changes state i into state i+1 */
  /* Changes bar of state i+1 into bar of state i, and adds to dp; gets state i. */
  int (*adjoint)(void const *state, void *bar, int64_t i, void *user);
  /* Makes bar of the final state; NULL: it is in bar already, or is zero if there are terms. */
  int (*seed)(void const *final_state, void *bar, void *user);

  /* Terms of the objective: both, or none. At the states term_every, 2 term_every, ...; 0: at the final state. */
  int64_t term_every;
  int (*term)(void const *state, int64_t i, double *value, void *user);       /* puts the term at state i into value */
  int (*term_adjoint)(void const *state, void *bar, int64_t i, void *user);   /* adds its derivative to bar, and to dp */

  /* Parameters that callbacks read where they lie, and the sums of their derivatives, zero when the adjoints begin. A
   * p that changes in a sweep is an error. What is not named here goes through `user`, and is not looked at. */
  double const *p;
  size_t p_numbers;
  double *dp;
  size_t dp_numbers;

  /* All three, or none: then a state is state_bytes plain bytes without pointers in them, aligned as malloc does. */
  void *(*create)(void *user);                           /* a state to be copied into, or NULL */
  int (*copy)(void const *from, void *into, void *user); /* may be called again on the same `into` */
  void (*destroy)(void *state, void *user);

  /* A run that goes on where it was killed or stopped: a folder, made if it is not there, or NULL. States are plain
   * bytes then. n, x0, p, the functions and the key are a run; `key` is a text that is another one when what callbacks
   * read besides x0 and p is another. */
  char const *folder;
  char const *key;
  int64_t disk_slots;        /* states in files, 1 or more, beside `slots`, which is given then and not memory_bytes */
  int (*stop)(void *user);   /* asked before each step and adjoint: not 0 ends the call with CAIRN_STOPPED; or NULL */

  void *user;                /* passed to every callback */
} cairn_loop;

/* How a call ended. */
typedef struct cairn_report {
  int status;             /* what the call returned, one of cairn_status */
  int callback_code;      /* what the callback returned that ended the sweep, else 0 */
  int64_t step;           /* the step that was under way then, else -1 */
  char const *phase;      /* "forward", "recompute" or "reverse" then, else "" */
  double value;           /* the sum of the terms */
  int64_t slots;          /* of the plan that ran, those in files included */
  uint64_t step_calls;    /* of the sweep; of a run on disk those of this process */
  int64_t resumed_at;     /* of a run on disk: steps [0, resumed_at) were left, 0: it was finished; -1: it began anew */
  char message[1536];     /* in words; "" after success, save for cairn_check, and for why a run on disk began anew */
} cairn_report;

typedef struct cairn_cost {
  int64_t slots;          /* states kept at once, as chosen */
  int64_t peak_states;    /* at once, those in work included; for more than 100,000 steps one or two too many */
  uint64_t peak_bytes;    /* of all that a sweep allocates, at most */
  uint64_t step_calls;    /* the adjoint is called once a step */
} cairn_cost;

/* Calls the step for the whole loop and the adjoint for every step, last first. `bar` is the adjoint of the initial
 * state then, and dp is whole; after an error `bar` is as it was, and dp is worth nothing. x0 is not changed. `report`
 * may be NULL. Returns the report's status. Calls from two threads at once do not meet.
 */
int cairn_gradient(cairn_loop const *loop, void const *x0, void *bar, cairn_report *report);

/* What cairn_gradient would take in memory, without a folder; calls nothing. Up to 100,000 steps some milliseconds, for
 * longer loops no time.
 */
int cairn_estimate(cairn_loop const *loop, cairn_cost *cost, cairn_report *report);

/* Whether the adjoint is that of the step, by differences at 64 of the steps and of the whole gradient. For states and
 * adjoints that are arrays of double, as many in both, and copied as plain bytes; terms and dp are not looked at.
 * report->message says what was found.
 */
int cairn_check(cairn_loop const *loop, void const *x0, cairn_report *report);

#ifdef __cplusplus
}
#endif
#endif
