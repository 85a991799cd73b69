-- A message into a mailbox.
insert into letter (mailbox, position, at, expires_at, text, body) values (?1, ?2, ?3, ?4, ?5, ?6)
