/* SPDX-License-Identifier: Apache-2.0 */
/* A loop in C: heat in a rod that radiates. How does the heat at the end depend on the first temperatures, and on how
 * well the rod conducts? */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cairn/c/cairn_loop.h>

enum { cells = 32, steps = 2000 };

typedef struct rod {
  double u[cells];
} rod;

typedef struct model {
  double conductivity;
  double conductivity_bar; /* sums up over all steps, outside the state */
} model;

static double laplacian(double const *u, int k) {
  return (k > 0 ? u[k - 1] : 0) - 2 * u[k] + (k + 1 < cells ? u[k + 1] : 0);
}

static int step(void *state, int64_t i, void *user) {
  model const *m = user;
  rod *x = state;
  rod const old = *x;
  int k;
  for (k = 0; k < cells; ++k)
    x->u[k] += m->conductivity * laplacian(old.u, k) - 1e-3 * old.u[k] * old.u[k] * old.u[k] * old.u[k];
  x->u[0] += 0.01 * (1 + sin(0.01 * (double)i));
  return isfinite(x->u[cells / 2]) ? 0 : 1;
}

static int adjoint(void const *state, void *bar, int64_t i, void *user) {
  model *m = user;
  rod const *x = state;
  rod *b = bar;
  rod const after = *b;
  int k;
  (void)i;
  for (k = 0; k < cells; ++k) {
    m->conductivity_bar += after.u[k] * laplacian(x->u, k);
    b->u[k] += m->conductivity * laplacian(after.u, k) - 4e-3 * x->u[k] * x->u[k] * x->u[k] * after.u[k];
  }
  return 0;
}

/* The objective is half the square of the final state. */
static int seed(void const *final_state, void *bar, void *user) {
  (void)user;
  memcpy(bar, final_state, sizeof(rod));
  return 0;
}

static double objective(rod x, model m) {
  double sum = 0;
  int64_t i;
  int k;
  for (i = 0; i < steps; ++i) step(&x, i, &m);
  for (k = 0; k < cells; ++k) sum += x.u[k] * x.u[k] / 2;
  return sum;
}

static int close_to(double a, double b) { return fabs(a - b) <= 1e-7 * (1e-3 + fabs(b)); }

int main(void) {
  model m = {0.2, 0}, all = {0.2, 0}, up = {0.2, 0}, down = {0.2, 0};
  cairn_loop loop = {.steps = steps,
                     .slots = 10,
                     .state_bytes = sizeof(rod),
                     .step = step,
                     .adjoint = adjoint,
                     .seed = seed,
                     .user = &m};
  cairn_report report;
  cairn_cost cost;
  rod x0, bar, same;
  double const h = 1e-5;
  double by_differences;
  int good = 1, k;

  for (k = 0; k < cells; ++k) x0.u[k] = 1 + 0.5 * sin(0.4 * k);

  if (cairn_check(&loop, &x0, &report) != CAIRN_OK) good = 0;
  printf("%s\n", report.message);
  m.conductivity_bar = 0; /* the check has called the adjoint, too */

  if (cairn_estimate(&loop, &cost, &report) != CAIRN_OK || cairn_gradient(&loop, &x0, &bar, &report) != CAIRN_OK) {
    fprintf(stderr, "%s\n", report.message);
    return 1;
  }
  printf("%lld states kept, %llu calls of the step\n", (long long)cost.slots, (unsigned long long)cost.step_calls);

  /* With a slot for every state nothing runs twice, and each bit is the same. */
  loop.slots = steps;
  loop.user = &all;
  if (cairn_gradient(&loop, &x0, &same, &report) != CAIRN_OK) {
    fprintf(stderr, "%s\n", report.message);
    return 1;
  }
  k = memcmp(&bar, &same, sizeof bar) == 0 && memcmp(&m.conductivity_bar, &all.conductivity_bar, sizeof(double)) == 0;
  printf("same bits as with every state kept: %s\n", k ? "yes" : "no");
  good = good && k;

  up.conductivity += h;
  down.conductivity -= h;
  by_differences = (objective(x0, up) - objective(x0, down)) / (2 * h);
  printf("d/d conductivity: adjoint %.9f, differences %.9f\n", m.conductivity_bar, by_differences);
  good = good && close_to(by_differences, m.conductivity_bar);
  for (k = 0; k < cells; k += 10) {
    rod higher = x0, lower = x0;
    higher.u[k] += h;
    lower.u[k] -= h;
    by_differences = (objective(higher, m) - objective(lower, m)) / (2 * h);
    printf("by cell %d: adjoint %.9f, differences %.9f\n", k, bar.u[k], by_differences);
    good = good && close_to(by_differences, bar.u[k]);
  }

  /* What cannot be done is said before anything runs. */
  loop.slots = -1;
  good = good && cairn_gradient(&loop, &x0, &bar, &report) == CAIRN_BAD_ARGUMENT;
  printf("%s\n", report.message);
  return good ? 0 : 1;
}
