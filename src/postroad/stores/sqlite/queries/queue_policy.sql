-- A queue's policy from now on.
update queue set policy = ?2 where id = ?1 and policy <> ?2
