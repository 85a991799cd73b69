-- Slots are taken up to then.
update pace set next_us = ?2 where id = ?1
