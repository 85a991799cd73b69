-- A limit is another one from now on.
update pace set spec = ?2, cost = ?3, spacing_us = ?4, counted = ?5, next_us = ?6 where id = ?1
