-- The next position in an ordered slot: given inside the accepting transaction, so that order of
-- acceptance is order of commit.
update rung set last_place = last_place + 1 where id = ?1 returning last_place
