#include "check.inc"

      module scenarios
      use check
      implicit none
      integer(address_kind), parameter :: bytes = 1024

! What the handlers saw.
      integer :: first_calls = 0, second_calls = 0, seen_window, seen_communicator, seen_code
      integer(1) :: byte(1) = 1
      type(c_ptr) :: asked_base

! The same in C.
      interface
      function create_handler_in_c() bind(C)
      import :: c_int
      integer(c_int) :: create_handler_in_c
      end function
      subroutine check_handler_call_in_c(number, window, code) bind(C)
      import :: c_int
      integer(c_int), value :: number, window, code
      end subroutine
      subroutine call_handler_in_c(window, code) bind(C)
      import :: c_int
      integer(c_int), value :: window, code
      end subroutine
      function put_to_nobody_in_c(window) bind(C)
      import :: c_int
      integer(c_int), value :: window
      integer(c_int) :: put_to_nobody_in_c
      end function
      end interface

      contains

      function made() result(win)
      WINDOW :: win
      type(c_ptr) :: base
      call MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierr); OK
      end function

      subroutine on_error(win, code)
      WINDOW :: win
      integer :: code
      first_calls = first_calls + 1
      seen_window = NUMBER(win)
      seen_code = code
      end subroutine

      subroutine on_other_error(win, code)
      WINDOW :: win
      integer :: code
      second_calls = second_calls + 1
      seen_window = NUMBER(win)
      seen_code = code
      end subroutine

      subroutine check_calls(of_first, of_second, win, code)
      integer, intent(in) :: of_first, of_second, code
      WINDOW, intent(in) :: win
      CHECK(first_calls == of_first .and. second_calls == of_second, str(first_calls) // ' and ' // str(second_calls) // ' calls')
      CHECK(seen_window == NUMBER(win), 'the handler got window ' // str(seen_window) // ' instead of ' // str(NUMBER(win)))
      CHECK(seen_code == code, 'the handler got code ' // str(seen_code) // ' instead of ' // str(code))
      end subroutine

      subroutine called_by_the_program()
      WINDOW :: win
      HANDLER :: handler
      integer :: class, code
      win = made()
      call MPI_Win_create_errhandler(on_error, handler, ierr); OK
      call MPI_Win_set_errhandler(win, handler, ierr); OK
      call MPI_Win_call_errhandler(win, MPI_ERR_OTHER, ierr); OK
      call check_calls(1, 0, win, MPI_ERR_OTHER)
      call MPI_Add_error_class(class, ierr); OK
      call MPI_Add_error_code(class, code, ierr); OK
      call MPI_Win_call_errhandler(win, code, ierr); OK
      call check_calls(2, 0, win, code)
      call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN, ierr); OK
      call MPI_Win_call_errhandler(win, MPI_ERR_OTHER, ierr); OK
      CHECK(first_calls == 2, 'the handler was called after another one was set')
      call MPI_Errhandler_free(handler, ierr); OK
      CHECK(handler == MPI_ERRHANDLER_NULL, 'a freed handler is ' // str(NUMBER(handler)))
      call MPI_Win_free(win, ierr); OK
      end subroutine

! A put to a rank that does not exist, to this displacement at that rank otherwise.
      subroutine wrong_put(win, target, displacement)
      WINDOW, intent(in) :: win
      integer, intent(in) :: target
      integer(address_kind), intent(in) :: displacement
      integer :: code
      call MPI_Win_lock_all(0, win, ierr); OK
      call MPI_Put(byte, 1, MPI_INTEGER1, target, displacement, 1, MPI_INTEGER1, win, code)
      call MPI_Win_unlock_all(win, ierr); OK
      ierr = code
      end subroutine

      subroutine called_by_an_error()
      WINDOW :: one, two
      HANDLER :: of_one, of_two
      integer :: round
      one = made()
      two = made()
      call MPI_Win_create_errhandler(on_error, of_one, ierr); OK
      call MPI_Win_create_errhandler(on_other_error, of_two, ierr); OK
      call MPI_Win_set_errhandler(one, of_one, ierr); OK
      call MPI_Win_set_errhandler(two, of_two, ierr); OK
      do round = 1, 3
        call wrong_put(one, ranks, 0_address_kind); FAILS(MPI_ERR_RANK)
        call check_calls(round, round - 1, one, ierr)
        call wrong_put(two, ranks, 0_address_kind); FAILS(MPI_ERR_RANK)
        call check_calls(round, round, two, ierr)
      end do
      call MPI_Errhandler_free(of_one, ierr); OK
      call MPI_Errhandler_free(of_two, ierr); OK
      call MPI_Win_free(one, ierr); OK
      call MPI_Win_free(two, ierr); OK
      end subroutine

      subroutine called_out_of_range()
      WINDOW :: win
      HANDLER :: handler
      win = made()
      call MPI_Win_create_errhandler(on_error, handler, ierr); OK
      call MPI_Win_set_errhandler(win, handler, ierr); OK
      call wrong_put(win, right, bytes); FAILS(MPI_ERR_RMA_RANGE)
      call check_calls(1, 0, win, ierr)
      call wrong_put(win, right, 2_address_kind**40); FAILS(MPI_ERR_RMA_RANGE)
      call check_calls(2, 0, win, ierr)
      call MPI_Errhandler_free(handler, ierr); OK
      call MPI_Win_free(win, ierr); OK
      end subroutine

! A handler that was freed lives on with the windows that have it.
      subroutine freed_while_set()
      WINDOW :: one, two
      HANDLER :: handler, another
      one = made()
      two = made()
      call MPI_Win_create_errhandler(on_error, handler, ierr); OK
      call MPI_Win_set_errhandler(one, handler, ierr); OK
      call MPI_Win_set_errhandler(two, handler, ierr); OK
      call MPI_Errhandler_free(handler, ierr); OK
! What is made now must not take the freed one's place.
      call MPI_Win_create_errhandler(on_other_error, another, ierr); OK
      call wrong_put(one, ranks, 0_address_kind); FAILS(MPI_ERR_RANK)
      call check_calls(1, 0, one, ierr)
      call MPI_Win_free(one, ierr); OK
      call wrong_put(two, ranks, 0_address_kind); FAILS(MPI_ERR_RANK)
      call check_calls(2, 0, two, ierr)
      call MPI_Win_get_errhandler(two, handler, ierr); OK
      call MPI_Win_set_errhandler(two, another, ierr); OK
      call wrong_put(two, ranks, 0_address_kind); FAILS(MPI_ERR_RANK)
      call check_calls(2, 1, two, ierr)
      call MPI_Win_set_errhandler(two, handler, ierr); OK
      call MPI_Errhandler_free(handler, ierr); OK
      call MPI_Errhandler_free(another, ierr); OK
      call wrong_put(two, ranks, 0_address_kind); FAILS(MPI_ERR_RANK)
      call check_calls(3, 1, two, ierr)
      call MPI_Win_free(two, ierr); OK
      end subroutine

      subroutine got_back()
      WINDOW :: win
      HANDLER :: handler, found
      integer :: round
      win = made()
      call MPI_Win_get_errhandler(win, found, ierr); OK
      CHECK(found == MPI_ERRORS_ARE_FATAL, 'a new window has another handler')
      call MPI_Win_create_errhandler(on_error, handler, ierr); OK
      call MPI_Win_set_errhandler(win, handler, ierr); OK
      do round = 1, 100
        call MPI_Win_get_errhandler(win, found, ierr); OK
        CHECK(found == handler, 'another handler comes back: ' // str(NUMBER(found)))
        call MPI_Errhandler_free(found, ierr); OK
      end do
      call MPI_Win_call_errhandler(win, MPI_ERR_OTHER, ierr); OK
      call check_calls(1, 0, win, MPI_ERR_OTHER)
      call MPI_Errhandler_free(handler, ierr); OK
      call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN, ierr); OK
      call MPI_Win_get_errhandler(win, found, ierr); OK
      CHECK(found == MPI_ERRORS_RETURN, 'MPI_ERRORS_RETURN does not come back')
      call MPI_Win_free(win, ierr); OK
      end subroutine

! Uses the window that it is called for.
      subroutine asking(win, code)
      WINDOW :: win
      integer :: code
      integer(address_kind) :: size
      integer :: class
      logical :: flag
      integer(1), pointer, contiguous :: own(:)
      character(len=MPI_MAX_ERROR_STRING) :: text
      first_calls = first_calls + 1
      call MPI_Error_class(code, class, ierr); OK
      CHECK(class == MPI_ERR_OTHER, 'the handler got class ' // str(class))
      call MPI_Error_string(code, text, class, ierr); OK
      CHECK(class > 0 .and. len_trim(text) <= class, 'the text has length ' // str(class))
      call MPI_Win_get_attr(win, MPI_WIN_SIZE, size, flag, ierr); OK
      CHECK(flag .and. size == bytes, 'the handler found a window of ' // str(size) // ' bytes')
      call c_f_pointer(asked_base, own, [bytes])
      byte = int(10 + first_calls, 1)
      call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win, ierr); OK
      call MPI_Put(byte, 1, MPI_INTEGER1, rank, 100_address_kind, 1, MPI_INTEGER1, win, ierr); OK
      call MPI_Win_flush(rank, win, ierr); OK
      CHECK(own(101) == 10 + first_calls, str(int(own(101))) // ' arrived')
      call MPI_Win_unlock(rank, win, ierr); OK
      end subroutine

      subroutine handlers_use_their_window()
      WINDOW :: win
      HANDLER :: handler
      integer :: round
      call MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, asked_base, win, ierr); OK
      call MPI_Win_create_errhandler(asking, handler, ierr); OK
      call MPI_Win_set_errhandler(win, handler, ierr); OK
      call MPI_Errhandler_free(handler, ierr); OK
      do round = 1, 3
        call MPI_Win_call_errhandler(win, MPI_ERR_OTHER, ierr); OK
        CHECK(first_calls == round, str(first_calls) // ' calls')
      end do
      call MPI_Win_free(win, ierr); OK
      end subroutine

! Handlers of one language are called in the other.
      subroutine across_languages()
      WINDOW :: win
      HANDLER :: handler
      integer :: code
      win = made()
      call MPI_Win_create_errhandler(on_error, handler, ierr); OK
      call MPI_Win_set_errhandler(win, handler, ierr); OK
      call MPI_Errhandler_free(handler, ierr); OK
      call call_handler_in_c(NUMBER(win), MPI_ERR_OTHER)
      call check_calls(1, 0, win, MPI_ERR_OTHER)
      code = put_to_nobody_in_c(NUMBER(win))
      call check_calls(2, 0, win, code)
      NUMBER(handler) = create_handler_in_c()
      call MPI_Win_set_errhandler(win, handler, ierr); OK
      call MPI_Errhandler_free(handler, ierr); OK
      call MPI_Win_call_errhandler(win, MPI_ERR_OTHER, ierr); OK
      call check_handler_call_in_c(1, NUMBER(win), MPI_ERR_OTHER)
      call wrong_put(win, ranks, 0_address_kind); FAILS(MPI_ERR_RANK)
      call check_handler_call_in_c(2, NUMBER(win), ierr)
      CHECK(first_calls == 2, str(first_calls) // ' calls')
      call MPI_Win_free(win, ierr); OK
      end subroutine

      subroutine returned()
      WINDOW :: win
      character(len=:), allocatable :: text
      win = made()
      call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN, ierr); OK
      call wrong_put(win, ranks, 0_address_kind); FAILS(MPI_ERR_RANK)
      call wrong_put(win, right, bytes + 77); FAILS(MPI_ERR_RMA_RANGE)
      text = string_of(ierr)
      if (behind_transom) then
        CHECK(index(text, 'MPI_Put') > 0, 'the call is not named: ' // text)
        CHECK(index(text, 'rank ' // str(right)) > 0, 'the rank is not named: ' // text)
        CHECK(index(text, 'displacement ' // str(bytes + 77)) > 0, 'the displacement is not named: ' // text)
        CHECK(index(text, '1024 bytes') > 0, 'the size is not named: ' // text)
      end if
      call MPI_Win_free(win, ierr); OK
      end subroutine

! While there is no window yet, the communicator's handler is called.
      subroutine of_a_communicator(comm, code)
      COMMUNICATOR :: comm
      integer :: code
      first_calls = first_calls + 1
      seen_communicator = NUMBER(comm)
      seen_code = code
      end subroutine

      subroutine called_by_creation()
      WINDOW :: win
      COMMUNICATOR :: copy
      HANDLER :: handler
      type(c_ptr) :: base
      call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierr); OK
      call MPI_Comm_create_errhandler(of_a_communicator, handler, ierr); OK
      call MPI_Comm_set_errhandler(copy, handler, ierr); OK
      call MPI_Errhandler_free(handler, ierr); OK
      call MPI_Win_allocate(-1_address_kind, 1, MPI_INFO_NULL, copy, base, win, ierr); FAILS(MPI_ERR_SIZE)
      CHECK(first_calls == 1 .and. seen_code == ierr, str(first_calls) // ' calls')
      CHECK(seen_communicator == NUMBER(copy), 'the handler got communicator ' // str(seen_communicator))
      call MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, copy, base, win, ierr); OK
      call MPI_Win_free(win, ierr); OK
      call MPI_Comm_free(copy, ierr); OK
      end subroutine

      subroutine run(name)
      character(len=*), intent(in) :: name
      first_calls = 0
      second_calls = 0
      select case (name)
      case ('called_by_the_program')
        call called_by_the_program()
      case ('called_by_an_error')
        call called_by_an_error()
      case ('called_out_of_range')
        call called_out_of_range()
      case ('freed_while_set')
        call freed_while_set()
      case ('got_back')
        call got_back()
      case ('handlers_use_their_window')
        call handlers_use_their_window()
      case ('across_languages')
        call across_languages()
      case ('returned')
        call returned()
      case ('called_by_creation')
        call called_by_creation()
      case default
        call no_such(name)
      end select
      end subroutine
      end module

      program error_handlers
      use scenarios
      implicit none
      integer :: i
      call start()
      do i = 1, command_argument_count()
        call run(scenario(i))
      end do
      call finish()
      end program
