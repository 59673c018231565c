/* SPDX-License-Identifier: Apache-2.0 */
/* The same function from C: a swinging pendulum, and how its end depends on its start. */
#include "one_unit.h"

#include <math.h>
#include <stdio.h>

enum { steps = 5000 };

static void step(double *u, long i, void *user) {
  double const dt = *(double const *)user;
  (void)i;
  u[1] -= dt * sin(u[0]);
  u[0] += dt * u[1];
}

static void adjoint(double const *u, double *bar, long i, void *user) {
  double const dt = *(double const *)user;
  (void)i;
  bar[1] += dt * bar[0];
  bar[0] -= dt * cos(u[0]) * bar[1];
}

static double end_of(double angle, double *dt) {
  double u[2] = {0, 0};
  long i;
  u[0] = angle;
  for (i = 0; i < steps; ++i) step(u, i, dt);
  return u[0];
}

int main(void) {
  double dt = 1e-3, u0[2] = {0.5, 0}, bar[2] = {1, 0}, difference;
  double const h = 1e-6;
  char why[400] = "";
  if (reverse_loop(steps, 2, u0, bar, step, adjoint, &dt, "4kB", why) != 0) {
    printf("%s\n", why);
    return 1;
  }
  difference = (end_of(u0[0] + h, &dt) - end_of(u0[0] - h, &dt)) / (2 * h);
  printf("d/d first angle %.6f, by differences %.6f\n", bar[0], difference);
  return fabs(bar[0] - difference) < 1e-6 ? 0 : 1;
}
