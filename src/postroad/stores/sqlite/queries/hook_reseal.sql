-- The same secrets under another key, unless they were changed meanwhile.
update webhook set key = ?2, sealed = ?3 where queue_id = ?1 and sealed = ?4
