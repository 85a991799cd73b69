-- Forget a credential that no campaign names.
delete from credential where tenant = ?1 and name = ?2
   and not exists (select 1 from campaign where credential = credential.id)
