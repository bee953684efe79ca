#include "check.inc"

      module scenarios
      use check
      implicit none
      integer(address_kind), parameter :: bytes = 1024
! A number that does not fit into 32 bits.
      integer(address_kind), parameter :: large = 2_address_kind**40 + 5

! What the callbacks saw.
      integer :: copies = 0, deletions = 0, seen_window, seen_keyval
      integer(address_kind) :: seen_value, seen_extra, sum_of_values
! What on_delete answers, and what it asks.
      integer :: answer = MPI_SUCCESS
      WINDOW :: asked
      integer :: another_keyval
      type(c_ptr) :: asked_base
      integer(1) :: moved(1)

! The same in C.
      interface
      subroutine set_in_c(number, keyval, value) bind(C)
      import :: c_int, c_ptr
      integer(c_int), value :: number, keyval
      type(c_ptr), value :: value
      end subroutine
      function get_in_c(number, keyval) bind(C)
      import :: c_int, c_ptr
      integer(c_int), value :: number, keyval
      type(c_ptr) :: get_in_c
      end function
      subroutine delete_in_c(number, keyval) bind(C)
      import :: c_int
      integer(c_int), value :: number, keyval
      end subroutine
      subroutine free_in_c(number) bind(C)
      import :: c_int
      integer(c_int), value :: number
      end subroutine
      function create_keyval_in_c(points_to_number) bind(C)
      import :: c_int
      integer(c_int), value :: points_to_number
      integer(c_int) :: create_keyval_in_c
      end function
      subroutine check_deletion_in_c(number, value) bind(C)
      import :: c_int, c_intptr_t
      integer(c_int), value :: number
      integer(c_intptr_t), value :: value
      end subroutine
      end interface

      contains

      function made() result(win)
      WINDOW :: win
      type(c_ptr) :: base
      call MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierr); OK
      end function

      subroutine on_copy(win, keyval, extra, value, copied, flag, ierror)
      WINDOW :: win
      integer :: keyval, ierror
      integer(address_kind) :: extra, value, copied
      logical :: flag
      copies = copies + 1
      copied = value
      flag = .true.
      ierror = MPI_SUCCESS
      end subroutine

      subroutine on_delete(win, keyval, value, extra, ierror)
      WINDOW :: win
      integer :: keyval, ierror
      integer(address_kind) :: value, extra
      deletions = deletions + 1
      seen_window = NUMBER(win)
      seen_keyval = keyval
      seen_value = value
      sum_of_values = sum_of_values + value
      seen_extra = extra
      ierror = answer
      end subroutine

      subroutine check_deletion(number, window, keyval, value, extra)
      integer, intent(in) :: number, window, keyval
      integer(address_kind), intent(in) :: value, extra
      CHECK(deletions == number, str(deletions) // ' deletions instead of ' // str(number))
      CHECK(seen_value == value, 'the callback got value ' // str(seen_value) // ' instead of ' // str(value))
      CHECK(seen_keyval == keyval, 'the callback got keyval ' // str(seen_keyval) // ' instead of ' // str(keyval))
      CHECK(seen_extra == extra, 'the callback got extra state ' // str(seen_extra) // ' instead of ' // str(extra))
! Open MPI 4.1 itself gives it a number from somewhere else.
      if (behind_transom .or. .not. openmpi) then
        CHECK(seen_window == window, 'the callback got window ' // str(seen_window) // ' instead of ' // str(window))
      end if
      end subroutine

      subroutine check_set(win, keyval, expected)
      WINDOW, intent(in) :: win
      integer, intent(in) :: keyval
      integer(address_kind), intent(in) :: expected
      integer(address_kind) :: value
      logical :: flag
      flag = .false.
      value = -99
      call MPI_Win_get_attr(win, keyval, value, flag, ierr); OK
      CHECK(flag, 'the flag is false for a value that is set')
      CHECK(transfer(flag, 0) == transfer(.true., 0), 'the flag holds ' // str(transfer(flag, 0)))
      CHECK(value == expected, 'the value is ' // str(value) // ' instead of ' // str(expected))
      end subroutine

      subroutine check_not_set(win, keyval)
      WINDOW, intent(in) :: win
      integer, intent(in) :: keyval
      integer(address_kind) :: value
      logical :: flag
      flag = .true.
      call MPI_Win_get_attr(win, keyval, value, flag, ierr); OK
      CHECK(.not. flag, 'the flag is true for a value that is not set')
      CHECK(transfer(flag, 0) == transfer(.false., 0), 'the flag holds ' // str(transfer(flag, 0)))
      end subroutine

      function address(of) result(number)
      type(c_ptr), intent(in) :: of
      integer(address_kind) :: number
      number = transfer(of, number)
      end function

! Fortran gets numbers, C pointers to them.
      subroutine predefined()
      WINDOW :: win
      type(c_ptr) :: base
      integer(1), pointer, contiguous :: own(:)
      integer(address_kind) :: size
      size = bytes + 16 * rank
      call MPI_Win_allocate(size, 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierr); OK
      call check_predefined(win, base, size, 8, MPI_WIN_FLAVOR_ALLOCATE)
      call MPI_Win_free(win, ierr); OK
      call MPI_Win_allocate_shared(size, 4 + rank, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierr); OK
      call check_predefined(win, base, size, 4 + rank, MPI_WIN_FLAVOR_SHARED)
      call MPI_Win_free(win, ierr); OK
      call MPI_Alloc_mem(size, MPI_INFO_NULL, base, ierr); OK
      call c_f_pointer(base, own, [size])
      call MPI_Win_create(own, size, 3, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr); OK
      call check_predefined(win, base, size, 3, MPI_WIN_FLAVOR_CREATE)
      call MPI_Win_free(win, ierr); OK
      call MPI_Free_mem(own, ierr); OK
      end subroutine

      subroutine check_predefined(win, base, size, unit, flavour)
      WINDOW, intent(in) :: win
      type(c_ptr), intent(in) :: base
      integer(address_kind), intent(in) :: size
      integer, intent(in) :: unit, flavour
      integer :: round
      do round = 1, 3
        call check_set(win, MPI_WIN_BASE, address(base))
        call check_set(win, MPI_WIN_SIZE, size)
        call check_set(win, MPI_WIN_DISP_UNIT, int(unit, address_kind))
        call check_set(win, MPI_WIN_CREATE_FLAVOR, int(flavour, address_kind))
        call check_set(win, MPI_WIN_MODEL, int(MPI_WIN_UNIFIED, address_kind))
      end do
      end subroutine

      subroutine own_values()
      WINDOW :: win
      integer :: keyval, i
      integer(address_kind), parameter :: values(6) = [0_address_kind, -1_address_kind, 4711_address_kind, large, -large, huge(large)]
      integer(address_kind) :: before
      win = made()
      call MPI_Win_create_keyval(on_copy, on_delete, keyval, 77_address_kind, ierr); OK
      call check_not_set(win, keyval)
      do i = 1, size(values)
        call MPI_Win_set_attr(win, keyval, values(i), ierr); OK
        call check_set(win, keyval, values(i))
        if (i > 1) call check_deletion(i - 1, NUMBER(win), keyval, before, 77_address_kind)
        before = values(i)
      end do
      call MPI_Win_delete_attr(win, keyval, ierr); OK
      call check_deletion(size(values), NUMBER(win), keyval, before, 77_address_kind)
      call check_not_set(win, keyval)
      call MPI_Win_free_keyval(keyval, ierr); OK
      CHECK(keyval == MPI_KEYVAL_INVALID, 'a freed keyval is ' // str(keyval))
      call MPI_Win_free(win, ierr); OK
      CHECK(deletions == size(values) .and. copies == 0, str(deletions) // ' deletions, ' // str(copies) // ' copies')
      end subroutine

! A window deletes what it holds, and only that, when it is freed; whether or not the keyval is still there.
      subroutine freed_windows_delete()
      WINDOW :: one, two
      integer :: keyval, another, freed, number
      one = made()
      two = made()
      call MPI_Win_create_keyval(on_copy, on_delete, keyval, 1_address_kind, ierr); OK
      call MPI_Win_create_keyval(on_copy, on_delete, another, 2_address_kind, ierr); OK
      call MPI_Win_set_attr(one, keyval, 1_address_kind, ierr); OK
      call MPI_Win_set_attr(one, another, large, ierr); OK
      call MPI_Win_set_attr(two, keyval, 16_address_kind, ierr); OK
      call check_not_set(two, another)
      call MPI_Win_free(one, ierr); OK
      CHECK(deletions == 2 .and. sum_of_values == 1 + large, str(deletions) // ' deletions, sum ' // str(sum_of_values))
      call check_set(two, keyval, 16_address_kind)
      freed = keyval
      call MPI_Win_free_keyval(keyval, ierr); OK
      call MPI_Win_free_keyval(another, ierr); OK
      CHECK(deletions == 2, 'freeing a keyval deleted something')
      number = NUMBER(two)
      call MPI_Win_free(two, ierr); OK
      call check_deletion(3, number, freed, 16_address_kind, 1_address_kind)
      CHECK(copies == 0, 'something was copied')
      end subroutine

      subroutine many()
      integer, parameter :: keyvals = 60, windows = 5
      WINDOW :: win(windows)
      integer :: keyval(keyvals), i, k
      do i = 1, windows
        win(i) = made()
      end do
      do k = 1, keyvals
        call MPI_Win_create_keyval(on_copy, on_delete, keyval(k), int(k, address_kind), ierr); OK
        do i = 1, windows
          call MPI_Win_set_attr(win(i), keyval(k), int(1000 * i + k, address_kind), ierr); OK
        end do
      end do
      do k = 1, keyvals
        do i = 1, windows
          call check_set(win(i), keyval(k), int(1000 * i + k, address_kind))
        end do
        if (modulo(k, 2) == 0) then
          call MPI_Win_free_keyval(keyval(k), ierr); OK
        end if
      end do
      CHECK(deletions == 0, 'something was deleted')
      do i = 1, windows
        call MPI_Win_free(win(i), ierr); OK
        CHECK(deletions == i * keyvals, str(deletions) // ' deletions')
      end do
      i = keyvals * 1000 * windows * (windows + 1) / 2 + windows * keyvals * (keyvals + 1) / 2
      CHECK(sum_of_values == i, 'their sum is ' // str(sum_of_values) // ' instead of ' // str(i))
      do k = 1, keyvals, 2
        call MPI_Win_free_keyval(keyval(k), ierr); OK
      end do
      end subroutine

! Keyvals are used in another order than they were made in.
      subroutine in_any_order()
      WINDOW :: win
      integer :: keyval(3), i
      integer, parameter :: order(3) = [3, 1, 2]
      win = made()
      do i = 1, 3
        call MPI_Win_create_keyval(on_copy, on_delete, keyval(i), 0_address_kind, ierr); OK
      end do
      do i = 1, 3
        call MPI_Win_set_attr(win, keyval(order(i)), int(order(i), address_kind), ierr); OK
      end do
      do i = 1, 3
        call MPI_Win_set_attr(win, keyval(i), int(10 * i, address_kind), ierr); OK
        CHECK(deletions == i .and. seen_value == i, str(deletions) // ' deletions, the last of ' // str(seen_value))
      end do
      do i = 1, 3
        call check_set(win, keyval(i), int(10 * i, address_kind))
        call MPI_Win_delete_attr(win, keyval(i), ierr); OK
        call check_not_set(win, keyval(i))
        CHECK(deletions == 3 + i .and. seen_value == 10 * i, str(deletions) // ' deletions, the last of ' // str(seen_value))
        call MPI_Win_free_keyval(keyval(i), ierr); OK
      end do
      call MPI_Win_free(win, ierr); OK
      CHECK(deletions == 6, str(deletions) // ' deletions')
      end subroutine

! Uses the window, its group and another attribute of it, and moves data.
      subroutine on_delete_asking(win, keyval, value, extra, ierror)
      WINDOW :: win
      integer :: keyval, ierror
      integer(address_kind) :: value, extra
      GROUP :: members
      integer :: size
      integer(1), pointer, contiguous :: own(:)
      deletions = deletions + 1
      call check_set(asked, MPI_WIN_BASE, address(asked_base))
      call check_set(asked, another_keyval, 4711_address_kind)
      call MPI_Win_get_group(asked, members, ierr); OK
      call MPI_Group_size(members, size, ierr); OK
      CHECK(size == ranks, 'the group has ' // str(size) // ' members')
      call MPI_Group_free(members, ierr); OK
      call c_f_pointer(asked_base, own, [bytes])
      moved = int(deletions, 1)
      call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, asked, ierr); OK
      call MPI_Put(moved, 1, MPI_INTEGER1, rank, 100_address_kind, 1, MPI_INTEGER1, asked, ierr); OK
      call MPI_Win_flush(rank, asked, ierr); OK
      CHECK(own(101) == deletions, str(int(own(101))) // ' arrived')
      call MPI_Win_unlock(rank, asked, ierr); OK
      ierror = MPI_SUCCESS
      end subroutine

      subroutine callbacks_use_their_window()
      integer :: keyval
      call MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, asked_base, asked, ierr); OK
      call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, another_keyval, 0_address_kind, ierr); OK
      call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete_asking, keyval, 0_address_kind, ierr); OK
      call MPI_Win_set_attr(asked, another_keyval, 4711_address_kind, ierr); OK
      call MPI_Win_set_attr(asked, keyval, 1_address_kind, ierr); OK
      call MPI_Win_set_attr(asked, keyval, 2_address_kind, ierr); OK
      CHECK(deletions == 1, str(deletions) // ' deletions')
      call MPI_Win_delete_attr(asked, keyval, ierr); OK
      CHECK(deletions == 2, str(deletions) // ' deletions')
      call MPI_Win_free_keyval(keyval, ierr); OK
      call MPI_Win_free_keyval(another_keyval, ierr); OK
      call MPI_Win_free(asked, ierr); OK
      CHECK(deletions == 2, str(deletions) // ' deletions')
      end subroutine

! While a window is being freed it is still there for its callbacks.
      subroutine on_delete_at_the_end(win, keyval, value, extra, ierror)
      WINDOW :: win
      integer :: keyval, ierror
      integer(address_kind) :: value, extra
      integer(1), pointer, contiguous :: own(:)
      deletions = deletions + 1
      call check_set(asked, MPI_WIN_BASE, address(asked_base))
      call c_f_pointer(asked_base, own, [bytes])
      moved = 42
      call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, asked, ierr); OK
      call MPI_Put(moved, 1, MPI_INTEGER1, rank, 100_address_kind, 1, MPI_INTEGER1, asked, ierr); OK
      call MPI_Win_flush(rank, asked, ierr); OK
      CHECK(own(101) == 42, str(int(own(101))) // ' arrived')
      call MPI_Win_unlock(rank, asked, ierr); OK
      ierror = MPI_SUCCESS
      end subroutine

      subroutine callbacks_use_a_window_that_is_freed()
      integer :: keyval
      call MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, asked_base, asked, ierr); OK
      call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete_at_the_end, keyval, 0_address_kind, ierr); OK
      call MPI_Win_set_attr(asked, keyval, 1_address_kind, ierr); OK
      call MPI_Win_free(asked, ierr); OK
      CHECK(deletions == 1, str(deletions) // ' deletions')
      call MPI_Win_free_keyval(keyval, ierr); OK
      end subroutine

      subroutine null_functions()
      WINDOW :: win
      integer :: keyval, trial
      do trial = 1, 2
        win = made()
        if (trial == 1) then
          call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, keyval, 0_address_kind, ierr); OK
        else
          call MPI_Win_create_keyval(MPI_WIN_DUP_FN, MPI_WIN_NULL_DELETE_FN, keyval, 0_address_kind, ierr); OK
        end if
        call MPI_Win_set_attr(win, keyval, 1_address_kind, ierr); OK
        call MPI_Win_set_attr(win, keyval, large, ierr); OK
        call check_set(win, keyval, large)
        call MPI_Win_delete_attr(win, keyval, ierr); OK
        call check_not_set(win, keyval)
        call MPI_Win_set_attr(win, keyval, 2_address_kind, ierr); OK
        call MPI_Win_free(win, ierr); OK
        call MPI_Win_free_keyval(keyval, ierr); OK
      end do
      end subroutine

! What a callback will not delete stays.
      subroutine refused_deletions()
      WINDOW :: win
      integer :: keyval
      win = made()
      call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN, ierr); OK
      call MPI_Win_create_keyval(on_copy, on_delete, keyval, 5_address_kind, ierr); OK
      call MPI_Win_set_attr(win, keyval, large, ierr); OK
      answer = MPI_ERR_OTHER
      call MPI_Win_set_attr(win, keyval, 2_address_kind, ierr)
      CHECK(ierr /= MPI_SUCCESS, 'a value was replaced')
      call check_deletion(1, NUMBER(win), keyval, large, 5_address_kind)
      call check_set(win, keyval, large)
      call MPI_Win_delete_attr(win, keyval, ierr)
      CHECK(ierr /= MPI_SUCCESS, 'a value was deleted')
      call check_deletion(2, NUMBER(win), keyval, large, 5_address_kind)
      call check_set(win, keyval, large)
      answer = MPI_SUCCESS
      call MPI_Win_delete_attr(win, keyval, ierr); OK
      call check_deletion(3, NUMBER(win), keyval, large, 5_address_kind)
      call check_not_set(win, keyval)
      call MPI_Win_free(win, ierr); OK
      call MPI_Win_free_keyval(keyval, ierr); OK
      end subroutine

! The extra state is what it was when the keyval was made, whatever has become of the variable.
      subroutine extra_state_is_a_value()
      WINDOW :: win
      integer :: keyval
      win = made()
      keyval = keyval_with_extra_state(large)
      call MPI_Win_set_attr(win, keyval, 1_address_kind, ierr); OK
      call MPI_Win_set_attr(win, keyval, 2_address_kind, ierr); OK
      call check_deletion(1, NUMBER(win), keyval, 1_address_kind, large)
      call MPI_Win_free(win, ierr); OK
      call MPI_Win_free_keyval(keyval, ierr); OK
      end subroutine

      function keyval_with_extra_state(extra) result(keyval)
      integer(address_kind), intent(in) :: extra
      integer(address_kind) :: variable
      integer :: keyval
      variable = extra
      call MPI_Win_create_keyval(on_copy, on_delete, keyval, variable, ierr); OK
      variable = -1
      end function

! MPI-4.1, section 19.3.7: what C set is a pointer, which Fortran reads as an integer; what Fortran set is an integer, to which C gets a
! pointer. Callbacks get values by the rules of their own language, whoever set or deletes them.
      subroutine values_of_c_in_fortran()
      WINDOW :: win
      type(c_ptr) :: found
      integer, target :: pointed
      integer(address_kind) :: at
      integer :: keyval, number
      win = made()
      number = NUMBER(win)
      at = address(c_loc(pointed))
      call MPI_Win_create_keyval(on_copy, on_delete, keyval, 7_address_kind, ierr); OK
      call set_in_c(number, keyval, c_loc(pointed))
      call check_set(win, keyval, at)
      found = get_in_c(number, keyval)
      CHECK(address(found) == at, 'C reads another pointer')
      call MPI_Win_set_attr(win, keyval, large, ierr); OK
      call check_deletion(1, number, keyval, at, 7_address_kind)
      call set_in_c(number, keyval, c_loc(pointed))
      call check_deletion(2, number, keyval, large, 7_address_kind)
      call delete_in_c(number, keyval)
      call check_deletion(3, number, keyval, at, 7_address_kind)
      found = get_in_c(number, keyval)
      CHECK(address(found) == 0, 'C finds a deleted value')
      call MPI_Win_set_attr(win, keyval, -large, ierr); OK
      call free_in_c(number)
      call check_deletion(4, number, keyval, -large, 7_address_kind)
      call MPI_Win_free_keyval(keyval, ierr); OK
      end subroutine

      subroutine values_of_fortran_in_c()
      WINDOW :: win
      integer(address_kind), pointer :: found
      integer, target :: pointed
      integer :: keyval, number
      win = made()
      number = NUMBER(win)
      keyval = create_keyval_in_c(1)
      call MPI_Win_set_attr(win, keyval, large, ierr); OK
      call check_set(win, keyval, large)
      call c_f_pointer(get_in_c(number, keyval), found)
      CHECK(found == large, 'C finds ' // str(found))
      call MPI_Win_set_attr(win, keyval, -large, ierr); OK
      call check_deletion_in_c(1, large)
      call c_f_pointer(get_in_c(number, keyval), found)
      CHECK(found == -large, 'C finds ' // str(found))
      call delete_in_c(number, keyval)
      call check_deletion_in_c(2, -large)
      call check_not_set(win, keyval)
      call MPI_Win_set_attr(win, keyval, 3_address_kind, ierr); OK
      call MPI_Win_free(win, ierr); OK
      call check_deletion_in_c(3, 3_address_kind)
      call MPI_Win_free_keyval(keyval, ierr); OK

! Pointers pass through as they are.
      win = made()
      number = NUMBER(win)
      keyval = create_keyval_in_c(0)
      call set_in_c(number, keyval, c_loc(pointed))
      call check_set(win, keyval, address(c_loc(pointed)))
      call MPI_Win_delete_attr(win, keyval, ierr); OK
      call check_deletion_in_c(4, address(c_loc(pointed)))
      call MPI_Win_free(win, ierr); OK
      call MPI_Win_free_keyval(keyval, ierr); OK
      end subroutine

      subroutine mistakes()
      WINDOW :: win
      integer(address_kind) :: value
      logical :: flag
      win = made()
      call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN, ierr); OK
      call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr); OK
      call MPI_Win_set_attr(win, MPI_WIN_SIZE, 1_address_kind, ierr)
      CHECK(ierr /= MPI_SUCCESS, 'a predefined value was replaced')
      call MPI_Win_delete_attr(win, MPI_WIN_BASE, ierr)
      CHECK(ierr /= MPI_SUCCESS, 'a predefined value was deleted')
      call MPI_Win_set_attr(win, MPI_KEYVAL_INVALID, 1_address_kind, ierr)
      CHECK(ierr /= MPI_SUCCESS, 'a value was set for MPI_KEYVAL_INVALID')
      call MPI_Win_get_attr(win, MPI_KEYVAL_INVALID, value, flag, ierr)
      CHECK(ierr /= MPI_SUCCESS, 'MPI_KEYVAL_INVALID was looked up')
      call check_set(win, MPI_WIN_SIZE, bytes)
      call MPI_Win_free(win, ierr); OK
      end subroutine

      subroutine run(name)
      character(len=*), intent(in) :: name
      copies = 0
      deletions = 0
      sum_of_values = 0
      select case (name)
      case ('predefined')
        call predefined()
      case ('own_values')
        call own_values()
      case ('freed_windows_delete')
        call freed_windows_delete()
      case ('many')
        call many()
      case ('in_any_order')
        call in_any_order()
      case ('callbacks_use_their_window')
        call callbacks_use_their_window()
      case ('callbacks_use_a_window_that_is_freed')
        call callbacks_use_a_window_that_is_freed()
      case ('null_functions')
        call null_functions()
      case ('refused_deletions')
        call refused_deletions()
      case ('extra_state_is_a_value')
        call extra_state_is_a_value()
      case ('values_of_c_in_fortran')
        call values_of_c_in_fortran()
      case ('values_of_fortran_in_c')
        call values_of_fortran_in_c()
      case ('mistakes')
        call mistakes()
      case default
        call no_such(name)
      end select
      end subroutine
      end module

      program attributes
      use scenarios
      implicit none
      integer :: i
      call start()
      do i = 1, command_argument_count()
        call run(scenario(i))
      end do
      call finish()
      end program
