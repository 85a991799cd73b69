-- A process that owns nothing any more goes away.
delete from process where id = ?1
