/* SPDX-License-Identifier: Apache-2.0 */
/* The adjoint of a loop behind one plain function: C, and C++ of any year, include this; one_unit.cpp alone is C++20. */
#ifndef ONE_UNIT_H
#define ONE_UNIT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Step i changes u, its adjoint changes bar of state i+1 into bar of state i and may add to what lies behind `user`. */
typedef void (*loop_step)(double *u, long i, void *user);
typedef void (*loop_adjoint)(double const *u, double *bar, long i, void *user);

/* Takes `bar` of the final state to that of u0, both of `numbers` numbers, within `memory`, such as "64MiB".
 * Returns 0, or 1 with a sentence in `why`, which has room for 400 characters.
 */
int reverse_loop(long steps, size_t numbers, double const *u0, double *bar, loop_step step, loop_adjoint adjoint,
                 void *user, char const *memory, char *why);

#ifdef __cplusplus
}
#endif

#endif
