! SPDX-License-Identifier: Apache-2.0
! Module arrays, as simulations have them: heat in a rod of which every part conducts otherwise. How does the misfit to
! data at every 50th step depend on the conductivities? Differences say whether the answer is right.
module rod
  use, intrinsic :: iso_c_binding
  implicit none
  integer, parameter :: cells = 64, steps = 2000, every = 50
  real(c_double), target :: u(cells), conductivity(cells), conductivity_bar(cells)
  real(c_double) :: observed(cells, steps / every)

contains
  pure subroutine flow(x, change)
    real(c_double), intent(in) :: x(cells)
    real(c_double), intent(out) :: change(cells)
    real(c_double) :: across(cells - 1)
    across = conductivity(:cells - 1) * (x(2:) - x(:cells - 1))
    change = 0
    change(:cells - 1) = across
    change(2:) = change(2:) - across
  end subroutine

  integer(c_int) function step(state, i, user) bind(c)
    type(c_ptr), value :: state, user
    integer(c_int64_t), value :: i
    real(c_double), pointer :: x(:)
    real(c_double) :: change(cells)
    call c_f_pointer(state, x, [cells])
    call flow(x, change)
    x = x + change
    x(1) = x(1) + 0.05d0 * (1 + sin(0.01d0 * real(i, c_double)))
    step = 0
  end function

  integer(c_int) function adjoint(state, bar, i, user) bind(c)
    type(c_ptr), value :: state, bar, user
    integer(c_int64_t), value :: i
    real(c_double), pointer :: x(:), b(:)
    real(c_double) :: change(cells)
    call c_f_pointer(state, x, [cells])
    call c_f_pointer(bar, b, [cells])
    conductivity_bar(:cells - 1) = conductivity_bar(:cells - 1) + (x(2:) - x(:cells - 1)) * (b(:cells - 1) - b(2:))
    call flow(b, change)
    b = b + change
    adjoint = 0
  end function

  integer(c_int) function misfit(state, i, term, user) bind(c)
    type(c_ptr), value :: state, user
    integer(c_int64_t), value :: i
    real(c_double), intent(out) :: term
    real(c_double), pointer :: x(:)
    call c_f_pointer(state, x, [cells])
    term = 0.5d0 * sum((x - observed(:, i / every))**2)
    misfit = 0
  end function

  integer(c_int) function misfit_adjoint(state, bar, i, user) bind(c)
    type(c_ptr), value :: state, bar, user
    integer(c_int64_t), value :: i
    real(c_double), pointer :: x(:), b(:)
    call c_f_pointer(state, x, [cells])
    call c_f_pointer(bar, b, [cells])
    b = b + x - observed(:, i / every)
    misfit_adjoint = 0
  end function

  !> The misfit by a plain loop.
  real(c_double) function plain()
    real(c_double), target :: x(cells)
    real(c_double) :: term
    integer(c_int64_t) :: i
    integer(c_int) :: code
    x = u
    plain = 0
    do i = 0, steps - 1
      code = step(c_loc(x), i, c_null_ptr)
      if (mod(i + 1, int(every, c_int64_t)) == 0) then
        code = misfit(c_loc(x), i + 1, term, c_null_ptr)
        plain = plain + term
      end if
    end do
  end function
end module

program conductivities
  use cairn_loop
  use rod
  implicit none
  type(cairn_loop_t) :: loop
  type(cairn_report_t) :: report
  type(cairn_cost_t) :: cost
  real(c_double), target :: bar(cells)
  real(c_double), parameter :: h = 1d-6
  real(c_double) :: difference, now
  integer :: k

  u = [(sin(0.2d0 * k), k=0, cells - 1)]
  conductivity = [(0.2d0 + 0.001d0 * k, k=0, cells - 1)]
  observed = 0.1d0

  loop%steps = steps
  loop%memory_bytes = 20000
  loop%state_bytes = c_sizeof(u)
  loop%step = c_funloc(step)
  loop%adjoint = c_funloc(adjoint)
  loop%term_every = every
  loop%term = c_funloc(misfit)
  loop%term_adjoint = c_funloc(misfit_adjoint)
  loop%p = c_loc(conductivity)
  loop%p_numbers = cells
  loop%dp = c_loc(conductivity_bar)
  loop%dp_numbers = cells

  if (cairn_estimate(loop, cost, report) /= cairn_ok) error stop cairn_message(report)
  print '(i0, a, i0, a)', cost%slots, ' states are kept, the step is called ', cost%step_calls, ' times'
  if (cairn_gradient(loop, c_loc(u), c_loc(bar), report) /= cairn_ok) error stop cairn_message(report)
  print '(a, g0.12)', 'misfit ', report%value
  if (report%step_calls /= cost%step_calls) error stop 'another number of steps than was predicted'
  if (abs(report%value - plain()) > 1d-12 * report%value) error stop 'another misfit'
  do k = 1, cells - 1, 9
    now = conductivity(k)
    conductivity(k) = now + h
    difference = plain()
    conductivity(k) = now - h
    difference = (difference - plain()) / (2 * h)
    conductivity(k) = now
    print '(a, i0, 2(a, g0.9))', 'conductivity ', k, ': adjoint ', conductivity_bar(k), ', differences ', difference
    if (abs(difference - conductivity_bar(k)) > 1d-6 * (1 + abs(difference))) error stop 'a wrong derivative'
  end do

  loop%slots = -1
  if (cairn_gradient(loop, c_loc(u), c_loc(bar), report) /= cairn_bad_argument) error stop 'not refused'
  print '(a)', cairn_message(report)
end program
