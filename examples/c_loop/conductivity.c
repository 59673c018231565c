/* SPDX-License-Identifier: Apache-2.0 */
/* A program with global arrays: heat in a rod of which every part conducts otherwise. How does the misfit to data at
 * every 50th step depend on the conductivities? With a folder as its argument it goes on where it was stopped; a second
 * argument stops it after so many steps and adjoints. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/c/cairn_loop.h>

enum { cells = 64, steps = 2000, every = 50 };

static double u[cells];                                      /* the initial state */
static double conductivity[cells], conductivity_bar[cells];  /* between cells k and k + 1 */
static double data[steps / every + 1][cells];
static long calls_left = -1;

static void flow(double const *x, double *out) {
  int k;
  for (k = 0; k + 1 < cells; ++k) {
    double const across = conductivity[k] * (x[k + 1] - x[k]);
    out[k] += across;
    out[k + 1] -= across;
  }
}

static int step(void *state, int64_t i, void *user) {
  double *x = state, old[cells];
  (void)user;
  memcpy(old, x, sizeof old);
  flow(old, x);
  x[0] += 0.05 * (1 + sin(0.01 * (double)i));
  return 0;
}

static int adjoint(void const *state, void *bar, int64_t i, void *user) {
  double const *x = state;
  double *b = bar, after[cells];
  int k;
  (void)i, (void)user;
  memcpy(after, b, sizeof after);
  flow(after, b);
  for (k = 0; k + 1 < cells; ++k) conductivity_bar[k] += (x[k + 1] - x[k]) * (after[k] - after[k + 1]);
  return 0;
}

static int misfit(void const *state, int64_t i, double *value, void *user) {
  double const *x = state;
  int k;
  (void)user;
  for (k = 0; k < cells; ++k) *value += 0.5 * (x[k] - data[i / every][k]) * (x[k] - data[i / every][k]);
  return 0;
}

static int misfit_adjoint(void const *state, void *bar, int64_t i, void *user) {
  double const *x = state;
  double *b = bar;
  int k;
  (void)user;
  for (k = 0; k < cells; ++k) b[k] += x[k] - data[i / every][k];
  return 0;
}

static int stop(void *user) {
  (void)user;
  return calls_left >= 0 && calls_left-- == 0;
}

/* The misfit by a plain loop. */
static double plain(void) {
  double x[cells], sum = 0;
  int64_t i;
  memcpy(x, u, sizeof x);
  for (i = 0; i < steps; ++i) {
    double term = 0;
    step(x, i, NULL);
    if ((i + 1) % every == 0) misfit(x, i + 1, &term, NULL);
    sum += term;
  }
  return sum;
}

int main(int count, char **given) {
  cairn_loop loop = {.steps = steps,
                     .slots = 10,
                     .state_bytes = sizeof u,
                     .step = step,
                     .adjoint = adjoint,
                     .term_every = every,
                     .term = misfit,
                     .term_adjoint = misfit_adjoint,
                     .p = conductivity,
                     .p_numbers = cells,
                     .dp = conductivity_bar,
                     .dp_numbers = cells};
  cairn_report report;
  double bar[cells];
  int k, good = 1;

  for (k = 0; k < cells; ++k) u[k] = sin(0.2 * k), conductivity[k] = 0.2 + 0.001 * k;
  for (k = 0; k < steps / every + 1; ++k) data[k][k % cells] = 0.01 * k;
  if (count > 1) {
    loop.folder = given[1];
    loop.key = "rod 1"; /* the source and the data are this rod's */
    loop.disk_slots = 20;
    loop.stop = stop;
    if (count > 2) calls_left = atol(given[2]);
  }
  if (cairn_gradient(&loop, u, bar, &report) != CAIRN_OK) {
    fprintf(stderr, "%s\n", report.message);
    return report.status == CAIRN_STOPPED ? 3 : 1;
  }
  printf("misfit %.15g\n", report.value);
  for (k = 0; k < cells; k += 9) printf("%d: %.17g %.17g\n", k, bar[k], conductivity_bar[k]);
  if (loop.folder != NULL) fprintf(stderr, "began with %lld steps left\n", (long long)report.resumed_at);

  good = fabs(report.value - plain()) <= 1e-12 * report.value;
  for (k = 0; k < cells - 1; k += 9) {
    double const h = 1e-6, now = conductivity[k];
    double difference;
    conductivity[k] = now + h;
    difference = plain();
    conductivity[k] = now - h;
    difference = (difference - plain()) / (2 * h);
    conductivity[k] = now;
    if (fabs(difference - conductivity_bar[k]) > 1e-6 * (1 + fabs(difference))) {
      fprintf(stderr, "conductivity %d: %.9g by differences\n", k, difference);
      good = 0;
    }
  }
  return good ? 0 : 1;
}
