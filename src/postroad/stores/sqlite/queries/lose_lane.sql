-- A lease was lost: the lane is free, and its next owner is warned.
update lane set owner = null, crashes = crashes + 1 where id = ?1
