! SPDX-License-Identifier: Apache-2.0
!> The gradient of a loop whose step and adjoint are Fortran functions on a state behind a c_ptr. cairn_loop.h says what
!> each member and call means; names, order and defaults are the same. A callback sees its arrays by c_f_pointer; one
!> that is not given is c_null_funptr.
module cairn_loop
  use, intrinsic :: iso_c_binding
  implicit none
  private

  enum, bind(c)
    enumerator :: cairn_ok = 0, cairn_bad_argument, cairn_no_memory, cairn_step_failed, cairn_adjoint_failed, &
      cairn_seed_failed, cairn_copy_failed, cairn_wrong_adjoint, cairn_internal, cairn_term_failed, cairn_stopped, &
      cairn_files_failed
  end enum
  public :: cairn_ok, cairn_bad_argument, cairn_no_memory, cairn_step_failed, cairn_adjoint_failed, cairn_seed_failed, &
    cairn_copy_failed, cairn_wrong_adjoint, cairn_internal, cairn_term_failed, cairn_stopped, cairn_files_failed

  type, bind(c), public :: cairn_loop_t
    integer(c_int64_t) :: steps = 0
    integer(c_int64_t) :: slots = 0
    integer(c_int64_t) :: memory_bytes = 0
    integer(c_size_t) :: state_bytes = 0
    integer(c_size_t) :: bar_bytes = 0
    type(c_funptr) :: step = c_null_funptr
    type(c_funptr) :: adjoint = c_null_funptr
    type(c_funptr) :: seed = c_null_funptr
    integer(c_int64_t) :: term_every = 0
    type(c_funptr) :: term = c_null_funptr
    type(c_funptr) :: term_adjoint = c_null_funptr
    type(c_ptr) :: p = c_null_ptr
    integer(c_size_t) :: p_numbers = 0
    type(c_ptr) :: dp = c_null_ptr
    integer(c_size_t) :: dp_numbers = 0
    type(c_funptr) :: create = c_null_funptr
    type(c_funptr) :: copy = c_null_funptr
    type(c_funptr) :: destroy = c_null_funptr
    type(c_ptr) :: folder = c_null_ptr
    type(c_ptr) :: key = c_null_ptr
    integer(c_int64_t) :: disk_slots = 0
    type(c_funptr) :: stop = c_null_funptr
    type(c_ptr) :: user = c_null_ptr
  end type

  type, bind(c), public :: cairn_report_t
    integer(c_int) :: status = 0
    integer(c_int) :: callback_code = 0
    integer(c_int64_t) :: step = -1
    type(c_ptr) :: phase = c_null_ptr
    real(c_double) :: value = 0
    integer(c_int64_t) :: slots = 0
    integer(c_int64_t) :: step_calls = 0
    integer(c_int64_t) :: resumed_at = -1
    character(kind=c_char) :: message(1536) = c_null_char
  end type

  type, bind(c), public :: cairn_cost_t
    integer(c_int64_t) :: slots = 0
    integer(c_int64_t) :: peak_states = 0
    integer(c_int64_t) :: peak_bytes = 0
    integer(c_int64_t) :: step_calls = 0
  end type

  interface
    integer(c_int) function cairn_gradient(loop, x0, bar, report) bind(c)
      import
      type(cairn_loop_t), intent(in) :: loop
      type(c_ptr), value :: x0, bar
      type(cairn_report_t), intent(inout) :: report
    end function
    integer(c_int) function cairn_estimate(loop, cost, report) bind(c)
      import
      type(cairn_loop_t), intent(in) :: loop
      type(cairn_cost_t), intent(inout) :: cost
      type(cairn_report_t), intent(inout) :: report
    end function
    integer(c_int) function cairn_check(loop, x0, report) bind(c)
      import
      type(cairn_loop_t), intent(in) :: loop
      type(c_ptr), value :: x0
      type(cairn_report_t), intent(inout) :: report
    end function
  end interface
  public :: cairn_gradient, cairn_estimate, cairn_check, cairn_message

contains
  !> The report's message as text.
  function cairn_message(report) result(text)
    type(cairn_report_t), intent(in) :: report
    character(len=:), allocatable :: text
    integer :: length, k
    length = 0
    do while (length < size(report%message))
      if (report%message(length + 1) == c_null_char) exit
      length = length + 1
    end do
    allocate (character(len=length) :: text)
    do k = 1, length
      text(k:k) = report%message(k)
    end do
  end function
end module
