"""The tests; bench/ and proof/ borrow from here."""
