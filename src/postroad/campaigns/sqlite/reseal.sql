-- Seal a credential with another key, unless it has changed meanwhile.
update credential set key = ?2, sealed = ?3 where id = ?1 and sealed = ?4
