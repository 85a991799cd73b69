-- What a campaign's counts change by; what is unsent again is found again.
update campaign set sent = sent + ?2, failed = failed + ?3, uncertain = uncertain + ?4,
       undelivered = undelivered + ?5, place = min(place, ?6)
 where id = ?1
