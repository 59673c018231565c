/* SPDX-License-Identifier: Apache-2.0 */
/* The adjoint of a loop whose step and adjoint are C functions on a state behind a `void *`.
 *
 * Fortran calls the same functions: through a `type, bind(c)` with the members of `cairn_loop` (integer(c_int64_t),
 * integer(c_size_t), type(c_funptr) from c_funloc, type(c_ptr) from c_loc) and interfaces with bind(c). Its callbacks
 * are `integer(c_int) function` with bind(c), take `type(c_ptr), value` and `integer(c_int64_t), value`, and see their
 * array by c_f_pointer.
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
  CAIRN_BAD_ARGUMENT = 1,   /* refused before any callback ran */
  CAIRN_NO_MEMORY = 2,      /* also where `create` gave NULL */
  CAIRN_STEP_FAILED = 3,    /* a callback did not return 0, and with that the sweep ended */
  CAIRN_ADJOINT_FAILED = 4,
  CAIRN_SEED_FAILED = 5,
  CAIRN_COPY_FAILED = 6,
  CAIRN_WRONG_ADJOINT = 7,  /* cairn_check only */
  CAIRN_INTERNAL = 8        /* anything else, such as an exception from a callback written in C++ */
};

/* A loop x = step(x, i), i = 0 .. steps-1. What is not named in an initialiser is 0, and that is its default.
 * Callbacks return 0, or anything else to end the sweep. They must come back: no longjmp out of them.
 */
typedef struct cairn_loop {
  int64_t steps;          /* 0 or more */
  int64_t slots;          /* states kept at once, 1 or more; 0: as many as memory_bytes allows */
  uint64_t memory_bytes;  /* for all that a sweep allocates, states in work included; 0: slots says how many. One of the
                             two is given */
  size_t state_bytes;     /* of one state, 1 or more */

  int (*step)(void *state, int64_t i, void *user);                              /* changes state i into state i+1 */
  int (*adjoint)(void const* state, void* bar, int64_t i,
                 void* user); /* changes bar of state i+1 into bar of state i; gets state i */
  int (*seed)(void const* final_state, void* bar,
              void* user); /* makes bar of the final state; NULL: it is in bar already */

  /* All three, or none: then a state is state_bytes plain bytes without pointers in them, aligned as malloc does. */
  void *(*create)(void *user);                                                  /* a state to be copied into, or NULL */
  int (*copy)(void const* from, void* into, void* user); /* may be called again on the same `into` */
  void (*destroy)(void *state, void *user);

  void *user;             /* passed to every callback: parameters, and where their derivatives are summed */
} cairn_loop;

/* How a call ended. */
typedef struct cairn_report {
  int status;             /* what the call returned, one of cairn_status */
  int callback_code;      /* what the callback returned that ended the sweep, else 0 */
  int64_t step;           /* the step that was under way then, else -1 */
  char const *phase;      /* "forward", "recompute" or "reverse" then, else "" */
  char message[1536];      /* in words; "" after success, save for cairn_check */
} cairn_report;

typedef struct cairn_cost {
  int64_t slots;          /* states kept at once, as chosen */
  int64_t peak_states;    /* at once, those in work included; for more than 100,000 steps one or two too many */
  uint64_t peak_bytes;    /* of all that a sweep allocates, at most */
  uint64_t step_calls;    /* the adjoint is called once a step */
} cairn_cost;

/* Calls the step for the whole loop and the adjoint for every step, last first. `bar` is the adjoint of the initial
 * state then; after an error it is worth nothing. x0 is not changed. `report` may be NULL. Returns the report's status.
 * Calls from two threads at once do not meet.
 */
int cairn_gradient(cairn_loop const *loop, void const *x0, void *bar, cairn_report *report);

/* What cairn_gradient would take; calls nothing. Up to 100,000 steps some milliseconds, for longer loops no time. */
int cairn_estimate(cairn_loop const *loop, cairn_cost *cost, cairn_report *report);

/* Whether the adjoint is that of the step, by differences at 64 of the steps and of the whole gradient. For states and
 * adjoints that are arrays of double, as many in both, and copied as plain bytes. report->message says what was found.
 */
int cairn_check(cairn_loop const *loop, void const *x0, cairn_report *report);

#ifdef __cplusplus
}
#endif
#endif
